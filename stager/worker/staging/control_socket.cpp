#include "stager/worker/staging/control_socket.h"

#include <fcntl.h>
#include <poll.h>

namespace stage {
namespace {

constexpr int kSayMilliseconds = 5000;

Error no_sense() {
    return {Blame::internal, "unexpected message from stagecastd"};
}

}  // namespace

Status ControlSocket::open(UniqueFd socket, Interrupts& interrupts) {
    socket_ = std::move(socket);
    interrupts_ = &interrupts;
    const int flags = ::fcntl(socket_.get(), F_GETFL);
    if (flags < 0 || ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC) != 0) {
        return Error::from_errno(Blame::internal, "the control socket");
    }
    return interrupts.also(socket_.get(), [this] { return read(); });
}

Status ControlSocket::read() {
    TRY(auto received, receive_from_peer(socket_.get(), kMaxToWorker));
    if (received.kind == PeerMessage::Kind::nothing_yet) {
        return {};
    }
    if (received.kind == PeerMessage::Kind::closed) {
        return Error{Blame::node, "stagecastd has ended", ECONNRESET};
    }
    TRY(auto message, decode_to_worker(received.message));
    if (const auto* abort = std::get_if<WorkerAbort>(&message)) {
        return Error{abort->blame, abort->sentence, ECANCELED};
    }
    if (std::holds_alternative<WorkerRelease>(message)) {
        is_released_ = true;
        return {};
    }
    if (std::holds_alternative<WorkerListening>(message)) {
        do_all_listen_ = true;
        return {};
    }
    if (auto* cards = std::get_if<WorkerCards>(&message); cards != nullptr && setup_) {
        cards_ = std::move(cards->table);
        return {};
    }
    if (auto* answer = std::get_if<WorkerCacheReply>(&message); answer != nullptr && setup_) {
        if (!asked_.empty() &&
            answer->about == asked_) {  // Otherwise the answer came too late.
            answer_ = CacheAnswer{std::move(answer->content), received.file.trusted()};
        }
        return {};
    }
    auto* setup = std::get_if<WorkerSetup>(&message);
    if (setup == nullptr || setup_) {
        return no_sense();
    }
    setup_ = std::move(*setup);
    return {};
}

template <class Done>
Status ControlSocket::wait_for(std::chrono::milliseconds longest, Done done) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (!done()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            return Error{Blame::node, "stagecastd did not respond in time", ETIMEDOUT};
        }
        if (Status looked = interrupts_->wait(left); !looked) {
            return looked;
        }
    }
    return {};
}

Result<WorkerSetup> ControlSocket::setup(std::chrono::milliseconds longest) {
    if (Status waited = wait_for(longest, [this] { return setup_.has_value(); }); !waited) {
        return std::move(waited).error();
    }
    return *setup_;
}

Result<ControlSocket::CacheAnswer> ControlSocket::ask(Bytes about,
                                                      std::chrono::milliseconds longest) {
    return answer_to(WorkerAsk{{about.begin(), about.end()}}, about, longest);
}

Result<ControlSocket::CacheAnswer> ControlSocket::seek(const SourceStamp& stamp,
                                                       std::chrono::milliseconds longest) {
    return answer_to(WorkerSeek{stamp}, stamp, longest);
}

Result<ControlSocket::CacheAnswer> ControlSocket::answer_to(const FromWorker& question,
                                                            Bytes about,
                                                            std::chrono::milliseconds longest) {
    asked_.assign(about.begin(), about.end());
    answer_.reset();
    Status done = say(question);
    done = done ? wait_for(longest, [this] { return answer_.has_value(); }) : done;
    asked_.clear();
    if (!done && done.error().cause() != ETIMEDOUT) {
        return std::move(done).error();
    }
    return answer_ ? *std::exchange(answer_, std::nullopt) : CacheAnswer{};
}

Status ControlSocket::give(Bytes card) {
    return say(FromWorker{WorkerCard{{card.begin(), card.end()}}});
}

Result<std::vector<std::byte>> ControlSocket::take(std::chrono::milliseconds longest) {
    if (Status waited = wait_for(longest, [this] { return cards_.has_value(); }); !waited) {
        return std::move(waited).error();
    }
    return *std::move(cards_);
}

void ControlSocket::say(const WorkerProgress& progress) {
    static_cast<void>(send_to_peer(socket_.get(), encode_from_worker(progress)));
}

Status ControlSocket::say(const FromWorker& message) {
    return say(message, -1);
}

Status ControlSocket::say_left(const std::vector<std::string>& entries) {
    constexpr std::size_t kBytesMax = kMaxDatagram / 2;
    static_assert(kMaxEntryBytes + kBytesMax < kMaxDatagram);
    std::size_t bytes = 0;
    WorkerLeft left;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        bytes += entries[i].size() + sizeof(std::uint32_t);
        left.entries.push_back(entries[i]);
        if (bytes < kBytesMax && i + 1 < entries.size()) {
            continue;
        }
        if (Status said = say(FromWorker{std::exchange(left, {})}); !said) {
            return said;
        }
        bytes = 0;
    }
    return {};
}

Status ControlSocket::say(const FromWorker& message, int file) {
    const std::vector<std::byte> bytes = encode_from_worker(message);
    for (;;) {
        Status sent = send_to_peer(socket_.get(), bytes, file);
        if (sent || sent.error().cause() != EAGAIN) {
            return sent;
        }
        pollfd room{socket_.get(), POLLOUT, 0};
        if (::poll(&room, 1, kSayMilliseconds) <= 0) {
            return sent;
        }
    }
}

}  // namespace stage
