//! What takes long says what it is doing: one line on a terminal, from the first second on, and nothing in a pipe.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is done sooner needs no words.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Does the work; says `what` as soon as it has taken more than a second.
pub fn during<T>(what: impl Into<String>, work: impl FnOnce() -> T) -> T {
    // Hidden by itself where standard error is no terminal; a thread that draws nothing is not worth starting.
    let target = ProgressDrawTarget::stderr();
    if target.is_hidden() {
        return work();
    }
    let _line = Line::new(what.into(), target, PATIENCE);
    work()
}

/// A line that appears when its time has come and is wiped when dropped.
struct Line {
    /// Closing it ends the thread.
    done: Option<Sender<()>>,
    drawing: Option<JoinHandle<()>>,
}

impl Line {
    fn new(what: String, target: ProgressDrawTarget, patience: Duration) -> Line {
        let (done, ended) = channel::<()>();
        let draw = move || {
            if ended.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, target).with_message(what).with_elapsed(patience);
            let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            loop {
                bar.tick();
                if ended.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                    return bar.finish_and_clear();
                }
            }
        };
        // Without a thread there is no line; the work goes on.
        let drawing = std::thread::Builder::new().name("progress".into()).spawn(draw).ok();
        Line { done: Some(done), drawing }
    }
}

impl Drop for Line {
    /// Waits until the line is gone: what is printed next must not share it.
    fn drop(&mut self) {
        self.done.take();
        if let Some(drawing) = self.drawing.take() {
            let _ = drawing.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, TermLike};

    fn line(terminal: &InMemoryTerm, patience: Duration) -> Line {
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), 255);
        Line::new("reading big.quipu".into(), target, patience)
    }

    #[test]
    fn long_work_is_named_and_leaves_no_trace() {
        let terminal = InMemoryTerm::new(4, 60);
        let shown = line(&terminal, Duration::ZERO);
        while !terminal.contents().contains("reading big.quipu") {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(shown);
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn short_work_is_silent() {
        let terminal = InMemoryTerm::new(4, 60);
        drop(line(&terminal, Duration::MAX));
        assert_eq!(terminal.contents(), "");
        assert_eq!(terminal.width(), 60);
    }
}
