#include "transport/udp/udp_driver.h"

#include "transport/base/invariant.h"
#include "transport/udp/sockets.h"
#include "transport/udp/udp_flow.h"

#include <netinet/udp.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace stage::udp {
namespace {

constexpr std::uint32_t kLookEvery = 16;  ///< Calls of receive() between looks at the peers'.
constexpr std::size_t kSlots = 24;        ///< 1.5 MB of buffers; a batch of one receive().
/// Trains on a rail between checks of its link: about 1 MB, or this many turns without any.
constexpr std::uint32_t kLinkLookEvery = 16;
/// For each of a flow's sets: 6 MB for all of up to eight flows, allocated as packets need
/// them.
constexpr std::size_t kFlowSlotsMax = 16;
constexpr std::size_t kFlowSlotsMin = 4;
constexpr std::size_t kFlowSlotsOfAll = 32;

/// The calls that send only read what these point at.
iovec to_iovec(Bytes piece) {
    return {const_cast<std::byte*>(piece.data()), piece.size()};
}

/// Gives a train's bytes in cuts that end where a piece does, or sooner.
class PieceCutter {
  public:
    explicit PieceCutter(std::span<const Bytes> pieces) : pieces_{pieces} {}

    [[nodiscard]] Bytes next(std::size_t at_most) {
        while (rest_.empty()) {
            rest_ = pieces_.front();
            pieces_ = pieces_.subspan(1);
        }
        const Bytes cut = rest_.first(std::min(at_most, rest_.size()));
        rest_ = rest_.subspan(cut.size());
        return cut;
    }

  private:
    std::span<const Bytes> pieces_;
    Bytes rest_;
};

std::size_t packets_of(const Train& train) {
    return (train.bytes + train.packet_bytes - 1) / train.packet_bytes;
}

/// What the kernel needs to know about a train while it is being sent.
struct Envelope {
    std::vector<iovec> pieces;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};

    msghdr seal(const Train& train, const SocketAddress& target) {
        pieces.resize(train.pieces.size());
        std::ranges::transform(train.pieces, pieces.begin(), to_iovec);
        msghdr message{};
        message.msg_name = const_cast<sockaddr*>(target.get());
        message.msg_namelen = target.length;
        message.msg_iov = pieces.data();
        message.msg_iovlen = pieces.size();
        if (packets_of(train) > 1) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* segment = CMSG_FIRSTHDR(&message);
            segment->cmsg_level = IPPROTO_UDP;
            segment->cmsg_type = UDP_SEGMENT;
            const auto bytes = static_cast<std::uint16_t>(train.packet_bytes);
            segment->cmsg_len = CMSG_LEN(sizeof bytes);
            std::memcpy(CMSG_DATA(segment), &bytes, sizeof bytes);
        }
        return message;
    }
};

}  // namespace

UdpDriver::UdpDriver(UdpEndpoints endpoints)
    : endpoints_{std::move(endpoints)}, slots_{kSlots}, peer_{.fd = endpoints_.peer.get()} {
    for (const Address& member : endpoints_.members) {
        member_targets_.push_back(member.to_socket());
    }
    for (const UniqueFd& flow : endpoints_.flows) {
        flows_.push_back({.fd = flow.get(), .is_group = true});
    }
    for (std::size_t flow = 0; flow < std::max<std::size_t>(flows_.size(), 1); ++flow) {
        group_targets_.push_back(flow_address(flow).to_socket());
    }
    outlets_.push_back({.fd = peer_.fd});
    for (const UniqueFd& rail : endpoints_.rails) {
        outlets_.push_back({.fd = rail.get()});
    }
    invariant(outlets_.size() == 1 || outlets_.size() == endpoints_.interfaces.size(),
              "a rail is one of the interfaces");
    std::ranges::for_each(descriptors(), tune_to_receive);
}

std::vector<int> UdpDriver::descriptors() const {
    std::vector<int> sockets{endpoints_.peer.get()};
    for (const ReadSocket& flow : flows_) {
        sockets.push_back(flow.fd);
    }
    return sockets;
}

std::vector<std::unique_ptr<FlowInbox>> UdpDriver::take_flows() {
    std::vector<std::unique_ptr<FlowInbox>> inboxes;
    if (flows_.size() < 2) {
        return inboxes;
    }
    const std::size_t slots =
        std::clamp(kFlowSlotsOfAll / flows_.size(), kFlowSlotsMin, kFlowSlotsMax);
    for (UniqueFd& flow : endpoints_.flows) {
        inboxes.push_back(std::make_unique<UdpFlow>(std::move(flow), slots));
    }
    flows_.clear();
    return inboxes;
}

Address UdpDriver::flow_address(std::size_t flow) const {
    const GroupFlows flows{.first = endpoints_.group_address, .rails = endpoints_.group_rails};
    return flows.address(Flow{static_cast<std::uint8_t>(flow)});
}

/// The first rail is the peers', too: without it nothing goes on.
bool UdpDriver::carries(Flow flow) {
    const std::size_t rail = flow.index() % outlets_.size();
    Outlet& outlet = outlets_[rail];
    if (rail > 0 && outlet.asked++ % kLinkLookEvery == 0) {
        outlet.carries = has_link(outlet.fd, endpoints_.interfaces[rail]);
    }
    return outlet.carries;
}

/// Half of the slots for the peers' socket, what is left for the group's.
Status UdpDriver::receive(std::vector<ReceivedPacket>& packets, Readable readable) {
    slots_.clear();
    if (++receives_ % kLookEvery == 1) {
        look(peer_);
        std::ranges::for_each(flows_, [this](ReadSocket& flow) { look(flow); });
    }
    if (readable.peers) {
        if (auto heard = read(peer_, kSlots / 2, packets); !heard) {
            return heard;
        }
    }
    // With several flows no stream gathers in one socket: they are reported like the peers'
    // socket.
    const bool is_heard = flows_.size() == 1 ? readable.stream : readable.peers;
    for (std::size_t left = is_heard ? flows_.size() : 0; left > 0; --left) {
        ReadSocket& flow = flows_[flows_.size() - left];
        if (auto heard = read(flow, slots_.free() / left, packets); !heard) {
            return heard;
        }
    }
    return {};
}

/// How full the group's buffer still is is seen where a batch had no room left; else nothing
/// is.
Status UdpDriver::read(ReadSocket& socket,
                       std::size_t room,
                       std::vector<ReceivedPacket>& packets) {
    const std::size_t before = slots_.free();
    if (auto filled = slots_.fill(socket, room, counters_, packets); !filled) {
        return filled;
    }
    if (socket.is_group && before - slots_.free() == room) {
        look(socket);
    } else if (socket.is_group) {
        counters_.group_fill = 0;
    }
    return {};
}

/// What one of the sockets holds now, beside what the others were last seen to hold.
void UdpDriver::look(ReadSocket& socket) {
    look_at(socket, counters_);
    std::uint64_t bytes = peer_.bytes;
    for (const ReadSocket& flow : flows_) {
        bytes += flow.bytes;
    }
    counters_.socket_bytes_max = std::max(counters_.socket_bytes_max, bytes);
}

const SocketAddress& UdpDriver::target_of(const Train& train) const {
    return train.target.to_group ? group_targets_[train.target.flow.index()]
                                 : member_targets_[train.target.peer.index()];
}

void UdpDriver::count_sent(const Train& train) {
    counters_.packets_sent += packets_of(train);
    counters_.bytes_sent += train.bytes;
}

Result<Sent> UdpDriver::send(const Train& train) {
    invariant(train.packet_bytes > 0 && train.bytes > 0, "a train has packets");
    invariant(train.pieces.size() <= kTrainPiecesMax, "a train's pieces are counted");
    invariant(packets_of(train) <= kTrainPacketsMax, "a train has at most 64 packets");
    invariant(train.packets_sent == nullptr || *train.packets_sent < packets_of(train),
              "a train that is offered has not left");
    Outlet& outlet = outlets_[outlet_of(train.target)];
    const bool segmented = outlet.can_segment && packets_of(train) > 1;
    auto sent = segmented ? send_segmented(outlet, train) : send_singly(outlet, train);
    if (sent && *sent == Sent::all) {
        count_sent(train);
    }
    return sent;
}

/// What one call refuses is tried, and judged, alone; then the others again.
Result<std::size_t> UdpDriver::send_together(std::span<const Train> trains) {
    Outlet& outlet = outlets_[trains.empty() ? 0 : outlet_of(trains.front().target)];
    if (trains.size() < 2 || !outlet.can_segment) {
        return Driver::send_together(trains);
    }
    std::vector<Envelope> envelopes(trains.size());
    std::vector<mmsghdr> messages(trains.size());
    for (std::size_t i = 0; i < trains.size(); ++i) {
        messages[i].msg_hdr = envelopes[i].seal(trains[i], target_of(trains[i]));
    }
    ++counters_.send_calls;
    const int got = ::sendmmsg(outlet.fd,
                               messages.data(),
                               static_cast<unsigned>(messages.size()),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    const auto sent = static_cast<std::size_t>(std::max(got, 0));
    std::ranges::for_each(trains.first(sent), [this](const Train& one) { count_sent(one); });
    if (sent == trains.size()) {
        return sent;
    }
    const auto rest = Driver::send_together(trains.subspan(sent));
    return rest ? Result<std::size_t>{sent + *rest} : rest;
}

Result<Sent> UdpDriver::send_segmented(Outlet& outlet, const Train& train) {
    Envelope envelope;
    const msghdr message = envelope.seal(train, target_of(train));
    ++counters_.send_calls;
    if (::sendmsg(outlet.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
        return Sent::all;
    }
    if (errno == EIO || errno == EINVAL || errno == EOPNOTSUPP || errno == EMSGSIZE) {
        // No checksum offload on the path, an old kernel, or a smaller MTU.
        outlet.can_segment = false;
        return send_singly(outlet, train);
    }
    return refused(outlet, train, "sending a train");
}

int UdpDriver::send_messages(const Outlet& outlet, std::span<mmsghdr> messages) {
    ++counters_.send_calls;
    return ::sendmmsg(outlet.fd,
                      messages.data(),
                      static_cast<unsigned>(messages.size()),
                      MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// The interface's MTU has become smaller since the packets' size was agreed upon: from now on
/// the kernel cuts them, and the receivers' put them together. False: it does so already.
bool UdpDriver::may_fragment(Outlet& outlet) {
    outlet.can_segment = false;
    return !std::exchange(outlet.fragments, true) && allow_fragments(outlet.fd).ok();
}

Result<Sent> UdpDriver::send_singly(Outlet& outlet, const Train& train) {
    const SocketAddress& target = target_of(train);
    std::array<mmsghdr, kTrainPacketsMax> messages{};
    std::array<iovec, kTrainPiecesMax + kTrainPacketsMax> cuts{};
    unsigned count = 0;
    std::size_t used = 0;
    PieceCutter cutter{train.pieces};
    for (std::size_t left = train.bytes; left > 0; ++count) {
        const std::size_t size = std::min<std::size_t>(train.packet_bytes, left);
        auto& header = messages[count].msg_hdr;
        header.msg_name = const_cast<sockaddr*>(target.get());
        header.msg_namelen = target.length;
        header.msg_iov = &cuts[used];
        for (std::size_t missing = size; missing > 0; ++used) {
            const Bytes cut = cutter.next(missing);
            cuts[used] = to_iovec(cut);
            missing -= cut.size();
        }
        header.msg_iovlen = static_cast<std::size_t>(&cuts[used] - header.msg_iov);
        left -= size;
    }
    std::size_t sent_before = 0;
    std::size_t& left = train.packets_sent != nullptr ? *train.packets_sent : sent_before;
    auto rest = std::span{messages}.first(count).subspan(left);
    while (!rest.empty()) {
        const int sent = send_messages(outlet, rest);
        if (sent > 0) {
            rest = rest.subspan(static_cast<std::size_t>(sent));
        } else if (errno != EMSGSIZE || !may_fragment(outlet)) {
            left = count - rest.size();
            return refused(outlet, train, "sending packets");
        }
    }
    return Sent::all;
}

/// What is refused for good is lost, and repaired if possible: neither a rail nor a peer nor a
/// route is a reason to end, but a socket that is none.
Result<Sent> UdpDriver::refused(Outlet& outlet, const Train& train, const char* doing) {
    const int cause = errno;
    const auto rail = static_cast<std::size_t>(&outlet - outlets_.data());
    // A card without a link may keep what it has for good.
    if (is_full(cause) && (rail == 0 || has_link(outlet.fd, endpoints_.interfaces[rail]))) {
        ++counters_.send_refused;
        return Sent::would_block;
    }
    if (rail != 0) {
        outlet.carries = false;
        outlet.asked = 1;
        return Sent::all;
    }
    if (cause != EBADF && cause != ENOTSOCK) {
        return Sent::all;
    }
    const Address& where = train.target.to_group
                               ? endpoints_.group_address
                               : endpoints_.members[train.target.peer.index()];
    return Error::from_errno(Blame::node, doing, cause).within(where.to_string());
}

}  // namespace stage::udp
