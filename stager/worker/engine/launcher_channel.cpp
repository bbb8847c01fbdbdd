#include "stager/worker/engine/launcher_channel.h"

#include "pmix/key_credential.h"
#include "pmix/launch_channel.h"
#include "pmix/waiting.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace stage {

Result<seal::GroupKey> LauncherChannel::key(std::chrono::milliseconds longest) {
    TRY(const auto first, line(longest));
    if (const auto key = key_in(first)) {
        return *key;
    }
    if (const auto credential = sealed_key_in(first)) {
        return open_key(*credential);
    }
    // The line itself may be a key: it goes into no message.
    return Error{Blame::user, "stdin does not begin with the group's key"}.remedy(
        "start the worker by stagecast push --launcher=, which writes it");
}

Status LauncherChannel::give(Bytes card) {
    const bool is_said =
        std::fputs(card_line(card).c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return is_said ? Status{} : Error::from_errno(Blame::node, "writing to the launcher");
}

Result<std::vector<std::byte>> LauncherChannel::take(std::chrono::milliseconds longest) {
    TRY(const auto last, line(longest));
    auto table = table_in(last);
    return table ? Result<std::vector<std::byte>>{*std::move(table)}
                 : Error{Blame::internal, "the launcher's second line is no table of cards"};
}

Result<std::string> LauncherChannel::line(std::chrono::milliseconds longest) {
    Waiting waiting{{.longest = longest, .interrupt_fd = interrupts_.descriptor()}};
    std::size_t searched = 0;
    for (;;) {
        if (const std::size_t end = text_.find('\n', searched); end != std::string::npos) {
            std::string whole = text_.substr(0, end);
            text_.erase(0, end + 1);
            return whole;
        }
        searched = text_.size();
        if (searched > kMaxLaunchLineBytes) {
            return Error{Blame::internal, "the launcher's line is too long"};
        }
        std::array<pollfd, 1> watched{{{.fd = input_, .events = POLLIN, .revents = 0}}};
        const Waiting::Woken woken = waiting.wait(watched, Waiting::kForever);
        if (woken != Waiting::Woken::ready) {
            Status reason = interrupts_.check();
            return reason ? waiting.error(woken, "waiting for the launcher")
                          : std::move(reason).error();
        }
        TRY(read_more());
    }
}

Status LauncherChannel::read_more() {
    std::array<char, 65536> room{};
    const ssize_t count = ::read(input_, room.data(), room.size());
    if (count > 0) {
        text_.append(room.data(), static_cast<std::size_t>(count));
    }
    if (count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN))) {
        return {};
    }
    return count < 0 ? Error::from_errno(Blame::node, "reading from the launcher")
                     : Error{Blame::node,
                             "the launcher has closed its channel before the group was "
                             "complete",
                             ECONNRESET};
}

}  // namespace stage
