//! Processes that end with this one, even if it is killed with SIGKILL or runs out of memory.
//!
//! A keeper, a small shell script, knows them and reads a pipe whose other end only this process has. When the pipe ends, it kills those that
//! it still knows. The kernel's own way (`PR_SET_PDEATHSIG`) is no help: it kills a process when the thread that started it ends.

use std::io::Write;
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Reads lines with a sign and a process id. A process that leads a group is killed with the group.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
all=
while read -r sign pid; do
  case $sign in
    +) all="$all $pid" ;;
    -) rest=
       for one in $all; do [ "$one" = "$pid" ] || rest="$rest $one"; done
       all=$rest ;;
  esac
done
for one in $all; do kill -9 "-$one" "$one" 2>/dev/null; done
"#;

static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);

/// The script. It runs as long as there are processes to keep.
#[derive(Debug)]
struct Keeper {
    script: Child,
    pipe: ChildStdin,
    kept: usize,
}

impl Keeper {
    /// Starts the script. Without a shell, processes are not kept.
    fn start() -> Option<Self> {
        let mut script = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        let pipe = script.stdin.take()?;
        Some(Self {
            script,
            pipe,
            kept: 0,
        })
    }

    fn say(&mut self, sign: char, pid: u32) {
        // Fails only if the script was killed.
        let _ = writeln!(self.pipe, "{sign} {pid}");
    }

    fn end(self) {
        drop(self.pipe);
        let mut script = self.script;
        // It knows no process, so it ends at once.
        let _ = script.wait();
    }
}

fn keeper() -> MutexGuard<'static, Option<Keeper>> {
    KEEPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child process that is killed when this process ends, however that happens. If the value is dropped before, the child lives on.
#[derive(Debug)]
pub struct KeptChild(Child);

impl KeptChild {
    /// Keeps a process.
    #[must_use]
    pub fn new(child: Child) -> Self {
        let mut keeper = keeper();
        if keeper.is_none() {
            *keeper = Keeper::start();
        }
        if let Some(keeper) = &mut *keeper {
            keeper.kept += 1;
            keeper.say('+', child.id());
        }
        Self(child)
    }
}

impl Deref for KeptChild {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KeptChild {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KeptChild {
    fn drop(&mut self) {
        let mut keeper = keeper();
        let Some(known) = &mut *keeper else {
            return;
        };
        known.say('-', self.0.id());
        known.kept = known.kept.saturating_sub(1);
        if known.kept == 0
            && let Some(last) = keeper.take()
        {
            last.end();
        }
    }
}
