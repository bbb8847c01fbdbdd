#include "stager/mpi/messages/call_message.h"

#include "stager/mpi/messages/ip_field.h"
#include "transport/base/fields.h"
#include "transport/os/descriptors.h"

#include <array>
#include <cerrno>

namespace stage {

namespace {

/// The version of these messages and of what libraries tell each other; changes with each.
constexpr std::uint8_t kVersion = 1;
constexpr TypeNumbers<CallMessage> kNumbers{1, 2, 3, 4, 5, 6, 7, 8, 9};
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxInterfaces = 4096;
constexpr std::size_t kMaxAddresses = 64;
constexpr std::size_t kMaxWhy = 1024;
/// A longer message is sent as a file in memory.
constexpr std::size_t kMaxInside = 32U << 10U;

void put_seconds(ByteWriter& out, std::int64_t seconds) {
    out.u64(static_cast<std::uint64_t>(seconds));
}

std::int64_t take_seconds(ByteReader& in) {
    return static_cast<std::int64_t>(in.u64());
}

}  // namespace

void fields(auto& on, Like<CallOrder> auto& order) {
    on.text(order.source, kMaxPath)
        .text(order.destination, kMaxPath)
        .choice(order.existing, CallExisting::overwrite)
        .flag(order.is_on_each_node)
        .flag(order.is_durable)
        .choice(order.transport, last_of<Transport>())
        .text(order.interfaces, kMaxInterfaces)
        .number(order.rate_max)
        .time(order.timeout)
        .time(order.stall_timeout);
}

void fields(auto& on, Like<CallAddress> auto& address) {
    on.with(address.ip, put_ip, take_ip).number(address.prefix_bits);
}

void fields(auto& on, Like<CallSend> auto& send) {
    fields(on, send.order);
    on.number(send.nodes);
}

void fields(auto& on, Like<CallOffer> auto& offer) {
    fields(on, offer.order);
    on.with(offer.seconds, put_seconds, take_seconds)
        .number(offer.nanoseconds)
        .number(offer.bytes)
        .number(offer.owner)
        .blob(offer.manifest, kMaxCallManifestBytes)
        .raw(offer.key)
        .number(offer.ttl)
        .number(offer.dscp)
        .choice(offer.protection, Protection::encrypt)
        .require(offer.ttl > 0 && offer.dscp < 64);
}

void fields(auto& on, Like<CallReceive> auto& receive) {
    fields(on, receive.offer);
    on.number(receive.node).number(receive.nodes);
}

void fields(auto& on, Like<CallReady> auto& ready) {
    on.flag(ready.is_needed)
        .template list<std::uint16_t>(
            ready.addresses, kMaxAddresses, [](auto& each, auto& one) { fields(each, one); });
}

void fields(auto& on, Like<CallGroup> auto& group) {
    on.number(group.own).number(group.size).with(group.address, put_ip, take_ip);
}

void fields(auto& on, Like<CallCard> auto& card) {
    on.blob(card.card, kMaxCallCardBytes);
}

void fields(auto& on, Like<CallCards> auto& cards) {
    on.list(cards.cards, kMaxCallMembers, [](auto& each, auto& one) {
        each.blob(one, kMaxCallCardBytes);
    });
}

void fields(auto& on, Like<CallProgress> auto& progress) {
    on.number(progress.bytes).number(progress.bytes_total);
}

void fields(auto& on, Like<CallEnd> auto& end) {
    on.flag(end.is_good)
        .flag(end.is_held)
        .flag(end.is_of_other)
        .number(end.culprit)
        .cut(end.why, kMaxWhy);
}

std::vector<std::byte> encode_call(const CallMessage& message) {
    return encoded(kVersion, kNumbers, message);
}

Result<CallMessage> decode_call(Bytes bytes) {
    auto message = decoded<CallMessage>(kVersion, kNumbers, bytes);
    if (!message) {
        return Error{Blame::internal,
                     "a message that this release of stagecast does not understand"}
            .remedy("use one release of the library and of stagecast-worker on all nodes");
    }
    return *std::move(message);
}

Status send_call(int socket, const CallMessage& message) {
    constexpr std::string_view kDoing = "a message between library and worker";
    const std::vector<std::byte> bytes = encode_call(message);
    if (bytes.size() <= kMaxInside) {
        return send_with_descriptors(socket, bytes, {}, 0, kDoing);
    }
    TRY(const auto file, file_in_memory("stagecast-call", bytes));
    return send_with_descriptors(
        socket, std::array{std::byte{0}}, std::array{file.get()}, 0, kDoing);
}

Result<CallMessage> receive_call(int socket) {
    const auto receive = [socket] {
        return receive_with_descriptors(
            socket, kMaxInside, 1, "a message between library and worker");
    };
    Result<Received> got = receive();
    if (!got && got.error().cause() == ECONNRESET) {
        // If the other end left messages unread, one reset is reported before its last words.
        got = receive();
    }
    if (!got) {
        return std::move(got).error();
    }
    if (!got->fds.empty()) {
        const auto bytes = read_first(got->fds.front().get(), kMaxCallBytes);
        return bytes ? decode_call(*bytes) : Result<CallMessage>{bytes.error()};
    }
    if (got->ended) {
        return Error{Blame::node, "the other end was closed", ECONNRESET};
    }
    return decode_call(got->message);
}

}  // namespace stage
