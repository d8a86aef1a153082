(function(){var r=document.documentElement,b=document.createElement('button');b.className='theme';b.type='button';
function dark(){var t=r.dataset.theme;return t?t==='dark':matchMedia('(prefers-color-scheme: dark)').matches}
function name(){b.textContent=dark()?'Light':'Dark'}
b.onclick=function(){r.dataset.theme=dark()?'light':'dark';name()};name();document.body.prepend(b);
var closed=[];addEventListener('beforeprint',function(){closed=[].slice.call(document.querySelectorAll('details:not([open])'));closed.forEach(function(d){d.open=true})});
document.querySelectorAll('.scroll>table').forEach(function(t){
var h=[].map.call(t.tHead.rows[0].cells,function(c){c=c.cloneNode(true);c.querySelectorAll('br').forEach(function(b){b.replaceWith(' ')});return c.textContent.trim()});
[].forEach.call(t.tBodies[0].rows,function(r){[].forEach.call(r.cells,function(c,i){if(h[i])c.dataset.label=h[i]})});if(h.length>2)t.parentNode.classList.add('stacks')});
addEventListener('afterprint',function(){closed.forEach(function(d){d.open=false})})})();
