//! One command, killed many times.

use crate::left::{Left, Own, STORE, unusable};
use quake_integration::agent::{self, Running};
use quake_integration::random::Random;
use quake_integration::waiting::pause;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Kills at once: a command mostly waits.
const LANES: usize = 4;

/// A command that is killed.
pub(crate) struct Command<'a> {
    /// What the output calls it.
    pub(crate) name: &'a str,
    /// How often it is killed, unless `QUAKE_KILLS` says.
    pub(crate) kills: usize,
    /// Makes what is below the root before the command.
    pub(crate) prepare: &'a (dyn Fn(&Path) + Sync),
    /// Its words, for a root.
    pub(crate) words: &'a (dyn Fn(&str) -> Vec<String> + Sync),
}

/// What an undisturbed run does.
struct Undisturbed {
    before: Left,
    whole: Left,
    own: Own,
    took: Duration,
}

/// A run that was killed and what the next one left, a line for each thing that is wrong.
type Killed = Vec<String>;

impl Command<'_> {
    /// Kills the command at many moments and runs it again after each.
    ///
    /// # Panics
    ///
    /// When a file is torn, or anything differs from what an undisturbed run leaves.
    pub(crate) fn killed(&self) {
        let requested = std::env::var("QUAKE_KILLS").ok();
        let kills = requested.map_or(self.kills, |text| text.parse().expect("a number"));
        let undisturbed = self.undisturbed();
        let most = u64::try_from(undisturbed.took.as_micros()).expect("it is short");
        let mut random = Random::from_environment();
        // Some runs are over before their moment.
        let moments = (0..4 * kills).map(|_| Duration::from_micros(random.below(most)));
        let (waiting, found) = (Mutex::new(moments.collect::<Vec<_>>()), Mutex::new(vec![]));
        std::thread::scope(|scope| {
            for _ in 0..LANES {
                scope.spawn(|| {
                    while found.lock().expect("no lane ended badly").len() < kills {
                        let next = waiting.lock().expect("no lane ended badly").pop();
                        let Some(moment) = next else { return };
                        let killed = self.killed_at(moment, &undisturbed);
                        found.lock().expect("no lane ended badly").extend(killed);
                    }
                });
            }
        });
        let found: Vec<Killed> = found.into_inner().expect("no lane ended badly");
        let (took, own) = (undisturbed.took, undisturbed.own.count());
        let times = found.len();
        println!(
            "{}: killed {times} times within {took:?}; {own} files are never the same",
            self.name
        );
        assert!(times >= kills, "{}: only {times} of {kills}", self.name);
        let found = found.concat();
        assert!(found.is_empty(), "{}: {}", self.name, found.join("\n"));
    }

    /// Two runs that nothing disturbs: what they leave, and how long the second took.
    fn undisturbed(&self) -> Undisturbed {
        let run = || {
            let root = tempfile::tempdir().expect("a temporary directory");
            (self.prepare)(root.path());
            let before = Left::below(root.path());
            let began = Instant::now();
            let ended = agent::run(&self.words_of(root.path()));
            assert_eq!(ended.status, 0, "{}: {}", self.name, ended.text());
            (before, Left::below(root.path()), began.elapsed())
        };
        let ((before, first, _), (_, second, took)) = (run(), run());
        let own = first.own(&second);
        let whole = second.without(&own);
        let differences = whole.differences(&first.without(&own));
        assert!(differences.is_empty(), "{}: {differences:#?}", self.name);
        Undisturbed {
            before,
            whole,
            own,
            took,
        }
    }

    /// Kills a run after `moment` and runs it again; `None` when it was over before.
    fn killed_at(&self, moment: Duration, undisturbed: &Undisturbed) -> Option<Killed> {
        let Undisturbed {
            before, whole, own, ..
        } = undisturbed;
        let folder = tempfile::tempdir().expect("a temporary directory");
        let root = folder.path();
        (self.prepare)(root);
        let running = Running::start(agent::command(&self.words_of(root)));
        pause(moment);
        if running.kill().status != -1 {
            return None;
        }
        let torn = Left::below(root).without(own).torn(before, whole);
        let mut wrong: Vec<String> = torn.iter().map(|file| format!("torn: {file}")).collect();
        let again = agent::run(&self.words_of(root));
        if again.status != 0 {
            wrong.push(format!("exit {}: {}", again.status, again.text()));
        }
        wrong.extend(whole.differences(&Left::below(root).without(own)));
        wrong.extend(unusable(root));
        if root.join(STORE).is_dir() {
            let verified = agent::run(&["store", "verify", "--root", plain(root)]);
            if verified.status != 0 {
                wrong.push(format!("store verify: {}", verified.text()));
            }
        }
        let at = |line: String| format!("killed after {moment:?}: {line}");
        Some(wrong.into_iter().map(at).collect())
    }

    fn words_of(&self, root: &Path) -> Vec<String> {
        (self.words)(plain(root))
    }
}

/// A path as text.
pub(crate) fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

/// Words as a command takes them.
pub(crate) fn words(of: &[&str]) -> Vec<String> {
    of.iter().copied().map(str::to_owned).collect()
}
