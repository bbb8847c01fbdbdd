#include "stager/worker/called/call_channel.h"

#include "transport/os/descriptors.h"

#include <cerrno>

namespace stage {

Status CallChannel::open(UniqueFd socket, Interrupts& interrupts) {
    socket_ = std::move(socket);
    interrupts_ = &interrupts;
    if (Status set = set_nonblocking(socket_.get()); !set) {
        return set;
    }
    return interrupts.also(socket_.get(), [this] { return read(); });
}

Status CallChannel::read() {
    Result<CallMessage> message = receive_call(socket_.get());
    if (!message) {
        const int cause = message.error().cause();
        if (cause == EAGAIN) {
            return {};
        }
        return cause == ECONNRESET
                   ? Error{Blame::node, "the MPI process of this node has ended", ECONNRESET}
                   : std::move(message).error();
    }
    if (message_) {
        return unexpected();
    }
    message_ = *std::move(message);
    return {};
}

Error CallChannel::unexpected() {
    return {Blame::internal, "unexpected message from libstagecast-mpi"};
}

Result<CallMessage> CallChannel::next() {
    while (!message_) {
        TRY(interrupts_->wait(std::chrono::hours{1}));
    }
    return *std::exchange(message_, std::nullopt);
}

Status CallChannel::say(const CallMessage& message) const {
    return send_call(socket_.get(), message);
}

Status CallChannel::give(Bytes card) {
    return say(CallCard{{card.begin(), card.end()}});
}

Result<std::vector<std::byte>> CallChannel::take(std::chrono::milliseconds /*longest*/) {
    Result<CallCards> cards = next_of<CallCards>();
    return cards ? Result<std::vector<std::byte>>{join_cards(cards->cards)}
                 : std::move(cards).error();
}

}  // namespace stage
