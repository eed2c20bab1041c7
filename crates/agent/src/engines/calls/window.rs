//! Which calls of a window are sampled (Arnold and Grove, section 4): after a first number of calls that is chosen at random,
//! every `stride`-th, until there are enough. The counters are a thread's own.

/// What a thread has still to do in its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Calls up to the next sample.
    skipped: u32,
    /// Samples that are still to be taken.
    left: u32,
}

/// What is done with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Nothing.
    Skipped,
    /// It is a sample.
    Sampled,
    /// It is a sample, and the window ends.
    Last,
}

impl Window {
    /// A window of so many samples. All calls have the same chance: the first sample is one of the first `stride` calls, as
    /// `random` says.
    pub fn open(stride: u32, samples: u32, random: u32) -> Window {
        // The upper bits of the product are a number below `stride`, and need no division.
        let first = ((u64::from(random) * u64::from(stride)) >> 32) as u32;
        Window { skipped: first + 1, left: samples.max(1) }
    }

    /// A method is called.
    pub fn call(&mut self, stride: u32) -> Call {
        self.skipped = self.skipped.saturating_sub(1);
        if self.skipped > 0 {
            return Call::Skipped;
        }
        self.skipped = stride;
        self.left = self.left.saturating_sub(1);
        if self.left > 0 { Call::Sampled } else { Call::Last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the paper says of its Figure 3 (section 4, in the words of the figure), run at all method entries, with the timer's part.
    struct Figure3 {
        stride: u32,
        samples_per_timer_interrupt: u32,
        profiling_enabled_by_timer: bool,
        skipped_invocations: u32,
        samples_this_timer_interrupt: u32,
    }

    impl Figure3 {
        fn timer(&mut self, initial: u32) {
            self.profiling_enabled_by_timer = true;
            self.skipped_invocations = initial;
        }

        fn method_entry(&mut self) -> bool {
            let mut sampled = false;
            if self.profiling_enabled_by_timer {
                self.skipped_invocations -= 1;
                if self.skipped_invocations == 0 {
                    sampled = true;
                    self.skipped_invocations = self.stride;
                    self.samples_this_timer_interrupt -= 1;
                    if self.samples_this_timer_interrupt == 0 {
                        self.samples_this_timer_interrupt = self.samples_per_timer_interrupt;
                        self.profiling_enabled_by_timer = false;
                    }
                }
            }
            sampled
        }
    }

    /// A random number for which `open` begins with this call, from 1 to `stride`.
    fn random_for(first: u32, stride: u32) -> u32 {
        ((u64::from(first - 1) << 32).div_ceil(u64::from(stride))) as u32
    }

    #[test]
    fn windows_are_those_of_figure_3() {
        for stride in [1, 2, 3, 7, 31, 1_000_000] {
            for samples in [1, 2, 16, 32] {
                let mut figure = Figure3 {
                    stride,
                    samples_per_timer_interrupt: samples,
                    profiling_enabled_by_timer: false,
                    skipped_invocations: stride,
                    samples_this_timer_interrupt: samples,
                };
                for first in (1..=stride.min(40)).chain([stride]) {
                    figure.timer(first);
                    let mut window = Some(Window::open(stride, samples, random_for(first, stride)));
                    // Up to a few calls behind the end.
                    let calls = (u64::from(first) + u64::from(stride) * u64::from(samples)).min(300);
                    for call in 0..calls {
                        let ours = window.as_mut().map_or(Call::Skipped, |window| window.call(stride));
                        assert_eq!(figure.method_entry(), ours != Call::Skipped, "{stride} {samples} {call}");
                        if ours == Call::Last {
                            window = None;
                        }
                        assert_eq!(figure.profiling_enabled_by_timer, window.is_some());
                    }
                    // The figure's window may be longer than what was looked at.
                    figure.profiling_enabled_by_timer = false;
                    figure.samples_this_timer_interrupt = samples;
                }
            }
        }
    }

    #[test]
    fn each_of_the_first_calls_is_as_likely_as_the_others() {
        let mut firsts = [0u32; 7];
        for step in 0..70_000u64 {
            let random = (step * (1 << 32) / 70_000) as u32;
            let mut window = Window::open(7, 1, random);
            let calls = (0..7).take_while(|_| window.call(7) == Call::Skipped).count();
            firsts[calls] += 1;
        }
        assert!(firsts.iter().all(|&n| (9_999..=10_001).contains(&n)), "{firsts:?}");
    }
}
