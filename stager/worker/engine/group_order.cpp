#include "stager/worker/engine/group_order.h"

#include "pmix/key_credential.h"
#include "stager/worker/engine/key_file.h"
#include "transport/base/codec.h"
#include "transport/base/text.h"
#include "transport/fabric/rails.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace stage {
namespace {

constexpr const char* kWhat = "the group's order";

/// The writer may vanish without closing its end, so the interrupts are checked meanwhile.
Result<std::string> read_input(int input, Interrupts& interrupts) {
    std::string text;
    std::array<char, 4096> room{};
    for (;;) {
        std::array<pollfd, 2> either{
            {{input, POLLIN, 0}, {interrupts.descriptor(), POLLIN, 0}}};
        static_cast<void>(::poll(either.data(), either.size(), -1));
        if (Status wanted = interrupts.check(); !wanted) {
            return std::move(wanted).error().within(kWhat);
        }
        if (either[0].revents == 0) {
            continue;
        }
        const ssize_t count = ::read(input, room.data(), room.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return Error::from_errno(Blame::user, "reading the group's order");
        }
        if (count == 0) {
            return text;
        }
        text.append(room.data(), static_cast<std::size_t>(count));
        if (text.size() > kMaxGroupOrderBytes) {
            return Error{Blame::user, "the group's order is longer than 1 MiB"};
        }
    }
}

}  // namespace

Result<GroupOrder> take_group_order(const std::string& from,
                                    int input,
                                    Interrupts& interrupts) {
    if (from == "-") {
        const Result<std::string> text = read_input(input, interrupts);
        return text ? parse_group_order(*text) : text.error();
    }
    TRY(const auto bytes, open_of_own_uid(from, kWhat));
    return parse_group_order(as_text(bytes));
}

Result<GroupOrder> parse_group_order(std::string_view text) {
    const std::size_t end = text.find('\n');
    const auto key =
        end == std::string_view::npos ? std::nullopt : read_key(as_bytes(text.substr(0, end)));
    if (!key) {
        return Error{Blame::user, "the group's order does not begin with a valid key"};
    }
    TRY(const auto names, parse_host_file(text.substr(end + 1), kWhat));
    TRY(auto hosts, resolve_hosts(names, kWhat));
    return GroupOrder{*key, std::move(hosts)};
}

Result<Rank> rank_of_this_host(const HostList& hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (interface_of(Address{.ip = hosts[i], .port = 0})) {
            return Rank{static_cast<std::uint16_t>(i)};
        }
    }
    return Error{Blame::node, "no address of the group belongs to this host"}.remedy(
        "its name must resolve, on the node where the push starts, to one of its addresses");
}

}  // namespace stage
