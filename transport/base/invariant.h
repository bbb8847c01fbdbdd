// Stops a program that violates one of its own invariants, in every build, and reports which.
//
// A daemon aborts (systemd restarts it). The plugin must not abort Slurm's process, so it
// installs a handler that unwinds to the hook. What a packet, a user or a disk can cause is
// never an invariant; it is a Result.
#pragma once

namespace stage {

/// Where in the source a call stands. Default arguments fill it in at the caller.
struct CallSite {
    const char* file;
    int line;

    static constexpr CallSite here(const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
        return {file, line};
    }
};

using InvariantHandler = void (*)(const char* truth, CallSite site);

/// Replaces what a failed invariant does; the default prints one line and aborts. A handler
/// that returns is followed by an abort.
void set_invariant_handler(InvariantHandler handler);

/// The end of a failed invariant: runs the handler.
[[noreturn]] void invariant_failed(const char* truth, CallSite site);

/// `truth` says positively what must hold: invariant(count > 0, "a gap is not empty").
inline void invariant(bool holds, const char* truth, CallSite site = CallSite::here()) {
    if (!holds) [[unlikely]] {
        invariant_failed(truth, site);
    }
}

}  // namespace stage
