(function(){var r=document.documentElement,b=document.createElement('button');b.className='theme';b.type='button';
function dark(){var t=r.dataset.theme;return t?t==='dark':matchMedia('(prefers-color-scheme: dark)').matches}
function name(){b.textContent=dark()?'Light':'Dark'}
b.onclick=function(){r.dataset.theme=dark()?'light':'dark';name()};name();document.body.prepend(b);
var closed=[];addEventListener('beforeprint',function(){closed=[].slice.call(document.querySelectorAll('details:not([open])'));closed.forEach(function(d){d.open=true})});
addEventListener('afterprint',function(){closed.forEach(function(d){d.open=false})})})();
