// The stream of a Link: bytes to messages, messages to login or frames, frames to bytes.
#include "stager/link/link.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr std::string_view kFinished = "stagecast link finished";
constexpr std::size_t kReadAtOnce = 64U << 10U;
/// Sent bytes that may lie before the unsent ones.
constexpr std::size_t kKeepSent = 4U << 20U;
/// What may lie unread in a Link: one whole frame and what came with its end.
constexpr std::size_t kReadAhead = kFrameHeader + kFrameMax + kFrameTag + kReadAtOnce;
/// Before the key: one message, and the first sealed frame behind it.
constexpr std::size_t kReadAheadUnproven = kFrameHeader + kGreetingMax + 256;

void drop_front(std::vector<std::byte>& bytes, std::size_t& count) {
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    count = 0;
}

}  // namespace

void Link::read_some() {
    while (state_ != State::closed) {
        const std::size_t room = room_to_read();
        if (room == 0 || !read_once(room)) {
            return;
        }
    }
}

/// How much more may lie here: nothing until what has come is received. A peer that has not
/// proved itself is not waited for.
std::size_t Link::room_to_read() {
    const std::size_t limit = opener_ ? kReadAhead : kReadAheadUnproven;
    const std::size_t held = in_.size() + received_bytes_;
    if (held < limit) {
        return limit - held;
    }
    if (!opener_) {
        close(
            {Blame::node,
             "the peer at " + address_.to_string() + " says too much before it has logged in"});
    }
    return 0;
}

/// False if there is nothing more to read now.
bool Link::read_once(std::size_t room) {
    std::array<std::byte, kReadAtOnce> chunk{};
    const ssize_t got = ::recv(socket_.get(), chunk.data(), std::min(chunk.size(), room), 0);
    if (got < 0 && errno == EINTR) {
        return true;
    }
    if (got < 0) {
        if (errno != EAGAIN) {
            lost(words_of(errno));
        }
        return false;
    }
    if (got == 0) {
        on_end_of_stream();
        return false;
    }
    // A link that is finishing is not interested any more.
    if (!finishing_ || state_ != State::open) {
        in_.insert(in_.end(), chunk.begin(), chunk.begin() + got);
        take_messages();
    }
    return true;
}

void Link::on_end_of_stream() {
    if (finishing_ && state_ == State::open) {
        state_ = State::closed;
        deadline_.reset();
        socket_.reset();
        return;
    }
    lost("it closed the connection");
}

void Link::take_messages() {
    while (state_ != State::closed && take_message(Bytes{in_}.subspan(in_taken_))) {
    }
    drop_front(in_, in_taken_);
}

/// True if one was there and taken.
bool Link::take_message(Bytes rest) {
    if (rest.size() < kFrameHeader) {
        return false;
    }
    return opener_ ? take_frame(rest) : take_greeting(rest);
}

bool Link::take_greeting(Bytes rest) {
    if (!handshake_.expects_message()) {
        return false;  // it waits until munge has answered
    }
    ByteReader reader{rest};
    const std::size_t length = reader.u32();
    if (length > kGreetingMax) {
        close({Blame::node, "what answers at " + address_.to_string() + " is no stagecastd"});
        return false;
    }
    const Bytes message = reader.raw(length);
    if (!reader.ok()) {
        return false;
    }
    in_taken_ += kFrameHeader + length;
    follow(handshake_.on_message(message));
    return true;
}

bool Link::take_frame(Bytes rest) {
    const auto whole = FrameOpener::whole_length(rest.first(kFrameHeader));
    if (whole && rest.size() < *whole) {
        return false;
    }
    auto frame = whole ? opener_->open(rest.first(*whole))
                       : Result<std::vector<std::byte>>{whole.error()};
    if (!frame) {
        close(std::move(frame).error().within("the connection to stagecastd at " +
                                              address_.to_string()));
        return false;
    }
    in_taken_ += *whole;
    if (state_ == State::open) {
        received_bytes_ += frame->size();
        received_.push_back(std::move(*frame));
    } else if (std::ranges::equal(*frame, as_bytes(kFinished))) {
        become_open();
    } else {
        close({Blame::node, "what answers at " + address_.to_string() + " is no stagecastd"});
    }
    return true;
}

void Link::follow(Result<Handshake::Step> step) {
    if (!step) {
        refuse(step.error());
        return;
    }
    out_.insert(out_.end(), step->send.begin(), step->send.end());
    if (step->keys) {
        become_sealed(*step->keys);
    }
    if (!step->seal.empty()) {
        ask_to_seal(step->seal);
    }
    if (!step->open.empty()) {
        ask_to_open(std::move(step->open));
    }
    write_some();
}

void Link::ask_to_seal(Bytes payload) {
    ticket_ = credentials_.seal(payload, [this](const Result<std::string>& sealed) {
        ticket_ = 0;
        if (sealed) {
            follow(handshake_.on_sealed(*sealed));
            take_messages();
        } else {
            on_munge_silent(sealed.error());
        }
        wake();
    });
}

void Link::ask_to_open(std::string credential) {
    ticket_ = credentials_.open(std::move(credential),
                                [this](const Result<OpenedCredential>& opened) {
                                    ticket_ = 0;
                                    if (opened) {
                                        auto step = handshake_.on_opened(*opened);
                                        trusted_ = step.ok();
                                        follow(std::move(step));
                                        take_messages();
                                    } else {
                                        on_munge_silent(opened.error());
                                    }
                                    wake();
                                });
}

void Link::on_munge_silent(const Error& error) {
    munge_silent_ = true;
    if (!is_connector()) {
        const auto message =
            encode_refusal({.code = RefusalCode::munge_silent, .versions = {}, .name = {}});
        static_cast<void>(::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL));
    }
    close(error);
}

/// Ends a failed login; tells the peer why, as far as a stranger may know.
void Link::refuse(const Error& error) {
    if (handshake_.refusal() && !is_connector()) {
        const auto message = encode_refusal(*handshake_.refusal());
        static_cast<void>(::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL));
    }
    close(error.within("the login at stagecastd " + address_.to_string()));
}

void Link::become_sealed(const LinkKeys& keys) {
    const bool connector = is_connector();
    sealer_.emplace(connector ? keys.to_acceptor : keys.to_connector);
    opener_.emplace(connector ? keys.to_connector : keys.to_acceptor);
    sealer_->seal(as_bytes(kFinished), out_);
}

void Link::become_open() {
    state_ = State::open;
    deadline_.reset();
    if (finishing_) {
        deadline_ = seen_ + policy_.silence_max;
    }
    for (const auto& frame : unsealed_) {
        sealer_->seal(frame, out_);
    }
    unsealed_.clear();
    unsealed_bytes_ = 0;
    write_some();
}

/// False if the socket takes no more for now.
bool Link::write_once() {
    const ssize_t sent =
        ::send(socket_.get(), &out_[out_sent_], out_.size() - out_sent_, MSG_NOSIGNAL);
    if (sent >= 0) {
        out_sent_ += static_cast<std::size_t>(sent);
        return true;
    }
    const int cause = errno;
    if (cause != EAGAIN && cause != EINTR) {
        lost(words_of(cause));
    }
    return cause == EINTR;
}

void Link::write_some() {
    while (state_ != State::closed && state_ != State::connecting && out_sent_ < out_.size()) {
        if (!write_once()) {
            break;
        }
    }
    // Moving the rest to the front for every little that was sent would cost more than sending.
    if (out_sent_ == out_.size() || out_sent_ >= kKeepSent) {
        drop_front(out_, out_sent_);
    }
    // Shutting down, not closing: what has not been read would make the kernel throw away what
    // has not been sent.
    if (finishing_ && !said_end_ && state_ == State::open && out_.empty()) {
        said_end_ = true;
        static_cast<void>(::shutdown(socket_.get(), SHUT_WR));
    }
}

}  // namespace stage
