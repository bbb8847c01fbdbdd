#include "pmix/waiting.h"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace stage {

Waiting::Woken Waiting::wait(std::span<pollfd> watched, Milliseconds at_most) {
    std::vector<pollfd> all{watched.begin(), watched.end()};
    all.push_back({.fd = limit_.interrupt_fd, .events = POLLIN, .revents = 0});
    const auto begin = Clock::now();
    const auto pause = at_most == kForever ? until_ : std::min(until_, begin + at_most);
    for (;;) {
        const auto left = std::chrono::ceil<Milliseconds>(pause - Clock::now()).count();
        constexpr std::int64_t kDay = 86'400'000;
        const int wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, kDay));
        const int ready = ::poll(all.data(), all.size(), wait);
        invariant(ready >= 0 || errno == EINTR, "poll() is asked about our own descriptors");
        std::copy_n(all.begin(), watched.size(), watched.begin());
        if (ready > 0 && all.back().revents != 0) {
            return Woken::interrupted;
        }
        if (ready > 0) {
            return Woken::ready;
        }
        if (is_over()) {
            return Woken::over;
        }
        if (Clock::now() >= pause) {
            return Woken::paused;
        }
    }
}

std::string Waiting::in_words() const {
    const auto tenths = limit_.longest.count() / 100;
    const std::string whole = std::to_string(tenths / 10);
    return tenths % 10 == 0 ? whole + " s" : whole + '.' + std::to_string(tenths % 10) + " s";
}

Error Waiting::error(Woken woken, const std::string& doing) const {
    if (woken == Woken::interrupted) {
        return {Blame::internal, doing + ": interrupted", ECANCELED};
    }
    return {Blame::node, doing + ": no answer within " + in_words(), ETIMEDOUT};
}

}  // namespace stage
