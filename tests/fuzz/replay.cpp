// Runs the stored inputs of a target.
//
//     TARGET FILE...         runs each in a process of its own; at the end "N passed, N failed"
//     TARGET --seeds FOLDER  writes the target's seeds there
//
// Needs no libFuzzer, so every compiler can. One more check: at least one of the inputs is
// still accepted; a corpus that a changed format has left behind would test nothing.
#include "tests/fuzz/fuzz.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace stage {
namespace {

/// Exit statuses that nothing else has: a sanitizer ends a process with 1.
enum class End { accepted = 64, refused = 65, failed };

/// An input that takes longer is a failure, too, seconds.
constexpr unsigned kSecondsMax = 20;

std::vector<std::byte> contents(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    invariant(file.is_open() && !file.bad(), "a file of the corpus can be read");
    return owned(text.str());
}

[[noreturn]] void replay_here(const std::string& path) {
    ::alarm(kSecondsMax);
    const bool accepted = fuzz_one(contents(path));
    ::_exit(static_cast<int>(accepted ? End::accepted : End::refused));
}

End replay(const std::string& path) {
    const pid_t child = ::fork();
    invariant(child >= 0, "a process can be had");
    if (child == 0) {
        replay_here(path);
    }
    int status = 0;
    invariant(::waitpid(child, &status, 0) == child, "a child is waited for");
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const bool is_known =
        code == static_cast<int>(End::accepted) || code == static_cast<int>(End::refused);
    return is_known ? static_cast<End>(code) : End::failed;
}

void say(const std::string& line) {
    static_cast<void>(std::puts(line.c_str()));
    static_cast<void>(std::fflush(stdout));
}

int replay_all(const std::vector<std::string>& paths) {
    std::size_t failed = 0;
    bool accepted = false;
    for (const std::string& path : paths) {
        const End end = replay(path);
        accepted = accepted || end == End::accepted;
        if (end == End::failed) {
            ++failed;
            say(path + ": broken, see above");
        }
    }
    if (!accepted && failed == 0) {
        ++failed;
        say("not one of " + std::to_string(paths.size()) +
            " inputs is accepted; if the format has changed: make fuzz-seeds");
    }
    const std::size_t passed = paths.size() - std::min(failed, paths.size());
    say(std::to_string(passed) + " passed, " + std::to_string(failed) + " failed");
    return failed == 0 ? 0 : 1;
}

int write_seeds(const std::string& folder) {
    for (const FuzzSeed& seed : fuzz_seeds()) {
        invariant(fuzz_one(seed.bytes), "a seed is accepted");
        std::ofstream file{folder + '/' + seed.name, std::ios::binary};
        file << text_of(seed.bytes);
        invariant(file.flush().good(), "a seed can be written");
    }
    return 0;
}

}  // namespace
}  // namespace stage

int main(int count, char** words) {
    const std::vector<std::string> arguments{words + 1, words + count};
    if (arguments.size() == 2 && arguments.front() == "--seeds") {
        return stage::write_seeds(arguments.back());
    }
    return stage::replay_all(arguments);
}
