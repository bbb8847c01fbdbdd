#include "stager/link/link.h"

#include "stager/link/cluster_name.h"
#include "stager/link/link_socket.h"
#include "transport/base/random_value.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace stage {
namespace {

std::string seconds_of(Duration time) {
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    if (milliseconds % 1000 == 0) {
        return std::to_string(milliseconds / 1000) + " s";
    }
    return std::to_string(milliseconds) + " ms";
}

}  // namespace

Link::Link(Maker,
           const LinkPolicy& policy,
           Credentials& credentials,
           Handshake::Start start,
           const Address& address)
    : policy_{policy},
      credentials_{credentials},
      handshake_{[&] {
          start.differs = credentials.remedies(start.peer_name).differs;
          start.private_key = random_value<decltype(start.private_key)>();
          start.nonce = random_value<decltype(start.nonce)>();
          return std::move(start);
      }()},
      address_{address} {
}

Link::~Link() {
    credentials_.cancel(ticket_);
}

std::unique_ptr<Link> Link::connect(const LinkPolicy& policy,
                                    Credentials& credentials,
                                    std::string peer_name,
                                    const Address& address,
                                    Instant now) {
    Handshake::Start start{
        .role = LinkRole::connector,
        .own_name = is_of_cluster(peer_name)
                        ? name_in_cluster(policy.cluster_name, policy.node_name)
                        : policy.node_name,
        .peer_name = std::move(peer_name),
        .versions = policy.versions,
        .trusted_uids = policy.trusted_uids};
    auto link = std::make_unique<Link>(Maker{}, policy, credentials, std::move(start), address);
    link->start_connecting(now);
    return link;
}

std::unique_ptr<Link> Link::accept(const LinkPolicy& policy,
                                   Credentials& credentials,
                                   UniqueFd socket,
                                   const Address& address,
                                   Instant now) {
    Handshake::Start start{.role = LinkRole::acceptor,
                           .own_name = policy.node_name,
                           .peer_name = {},
                           .versions = policy.versions,
                           .trusted_uids = policy.trusted_uids};
    start.cluster_name = policy.cluster_name;
    auto link = std::make_unique<Link>(Maker{}, policy, credentials, std::move(start), address);
    link->socket_ = std::move(socket);
    prepare_link_socket(link->socket_.get(), policy.silence_max);
    link->seen_ = now;
    link->state_ = State::authenticating;
    link->deadline_ = now + policy.accept_timeout;
    return link;
}

void Link::start_connecting(Instant now) {
    seen_ = now;
    deadline_ = now + policy_.connect_timeout;
    auto begun = begin_to_connect(address_, policy_.silence_max);
    if (!begun) {
        close(std::move(begun).error());
        return;
    }
    socket_ = std::move(begun->socket);
    if (begun->cause == 0) {
        check_connected();
    } else if (begun->cause != EINPROGRESS && begun->cause != EINTR) {
        not_reached(begun->cause);
    }
}

void Link::check_connected() {
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
        error = errno;
    }
    if (error != 0) {
        not_reached(error);
        return;
    }
    sockaddr_storage peer{};
    length = sizeof peer;
    if (::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &length) != 0) {
        return;  // not yet
    }
    state_ = State::authenticating;
    follow(handshake_.begin());
}

bool Link::wants_write() const {
    if (state_ == State::closed) {
        return false;
    }
    return state_ == State::connecting || out_sent_ < out_.size() ||
           (finishing_ && !said_end_ && state_ == State::open);
}

unsigned Link::progress() const {
    if (ticket_ != 0 || trusted_) {
        return 2;
    }
    return handshake_.version() != 0 ? 1 : 0;
}

bool Link::was_unauthorised() const {
    return state_ == State::closed && !is_connector() && !trusted_ && !munge_silent_;
}

std::size_t Link::queued() const {
    return unsealed_bytes_ + out_.size() - out_sent_;
}

void Link::on_readable(Instant now) {
    seen_ = now;
    if (state_ == State::connecting) {
        check_connected();
    }
    if (state_ == State::authenticating || state_ == State::open) {
        read_some();
    }
}

void Link::on_writable(Instant now) {
    seen_ = now;
    if (state_ == State::connecting) {
        check_connected();
    }
    if (state_ == State::authenticating || state_ == State::open) {
        write_some();
    }
}

void Link::on_time(Instant now) {
    if (!deadline_ || now < *deadline_ || state_ == State::closed) {
        return;
    }
    if (finishing_ && state_ == State::open) {
        state_ = State::closed;
        socket_.reset();
        return;
    }
    close({Blame::node, late_sentence(), ETIMEDOUT});
}

Status Link::send(Bytes frame) {
    invariant(!frame.empty(), "a frame has something in it");
    if (state_ == State::closed || finishing_) {
        return error_ ? Status{*error_} : Error{Blame::internal, "the link is finished"};
    }
    if (frame.size() > kFrameMax) {
        return Error{Blame::internal,
                     "a message to stagecastd at " + address_.to_string() +
                         " is longer than the limit of 4 MiB"};
    }
    if (queued() + frame.size() > policy_.queue_bytes_max) {
        return Error{Blame::node,
                     "stagecastd at " + address_.to_string() +
                         " does not read its messages; is that node overloaded?"};
    }
    if (state_ != State::open) {
        unsealed_.emplace_back(frame.begin(), frame.end());
        unsealed_bytes_ += frame.size();
        return {};
    }
    sealer_->seal(frame, out_);
    write_some();
    return {};
}

std::optional<std::vector<std::byte>> Link::receive() {
    if (received_.empty()) {
        return std::nullopt;
    }
    std::vector<std::byte> frame = std::move(received_.front());
    received_.pop_front();
    received_bytes_ -= frame.size();
    return frame;
}

void Link::finish(Instant now) {
    if (state_ == State::closed || finishing_) {
        return;
    }
    finishing_ = true;
    seen_ = now;
    if (state_ == State::open) {
        deadline_ = now + policy_.silence_max;
        write_some();
    } else if (unsealed_.empty()) {
        state_ = State::closed;
        socket_.reset();
    }
}

void Link::close(Error error) {
    if (state_ == State::closed) {
        return;
    }
    state_ = State::closed;
    error_ = std::move(error);
    deadline_.reset();
    socket_.reset();
    credentials_.cancel(std::exchange(ticket_, 0));
    unsealed_.clear();
    out_.clear();
    out_sent_ = 0;
}

UniqueFd Link::release() {
    const bool is_idle = state_ == State::open && !finishing_ && out_sent_ == out_.size() &&
                         in_.empty() && received_.empty();
    if (!is_idle) {
        return {};
    }
    state_ = State::closed;
    deadline_.reset();
    return std::move(socket_);
}

std::string Link::words_of(int cause) {
    return std::generic_category().message(cause);
}

void Link::evict() {
    close({Blame::node, "too many others are logging in at this node"});
    wake();
}

void Link::wake() const {
    if (wake_) {
        wake_();
    }
}

/// A host whose port no program has open refuses the connection. A firewall rejects it in other
/// ways, mostly as if there were no route.
void Link::not_reached(int cause) {
    const std::string at = address_.to_string() + " (" + words_of(cause) + ")";
    if (cause == ECONNREFUSED) {
        close({Blame::node, "stagecastd does not answer at " + at + "; is it running there?"});
    } else {
        close({Blame::node,
               "stagecastd does not answer at " + at +
                   "; is that node up, and does a firewall block its port?"});
    }
}

void Link::lost(const std::string& why, int cause) {
    const std::string at = address_.to_string();
    if (state_ == State::authenticating) {
        close({Blame::node,
               "stagecastd at " + at + " ended the login (" + why + "); see its log"});
    } else {
        close({Blame::node,
               "the connection to stagecastd at " + at + " was lost (" + why +
                   "); has stagecastd ended there?",
               cause});
    }
}

std::string Link::late_sentence() const {
    const std::string at = address_.to_string();
    if (state_ == State::connecting) {
        return "stagecastd does not answer at " + at + " within " +
               seconds_of(policy_.connect_timeout) +
               "; is it running there, and does a firewall block its port?";
    }
    const Duration limit = is_connector() ? policy_.connect_timeout : policy_.accept_timeout;
    return "the login at stagecastd " + at + " took longer than " + seconds_of(limit) +
           (ticket_ != 0
                ? ", waiting for munge on this node; is munged running?"
                : ", waiting for its answer; " + credentials_.remedies(peer_name()).silent);
}

namespace {

constexpr std::string_view kFinished = "stagecast link finished";
/// The connector's last frame: the acceptor closes the connection, so that the port that stays
/// in TIME_WAIT is its own.
constexpr std::string_view kEnded = "stagecast link ended";
constexpr std::size_t kReadAtOnce = 64U << 10U;
/// Sent bytes that may lie before the unsent ones.
constexpr std::size_t kKeepSent = 4U << 20U;
/// Bytes that may lie unread in a Link: one whole frame, and what was read with its end.
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

/// The bytes that may still be read: none until what has arrived is received. A peer that has
/// not proved itself is closed instead.
std::size_t Link::room_to_read() {
    const std::size_t limit = opener_ ? kReadAhead : kReadAheadUnproven;
    const std::size_t held = in_.size() + received_bytes_;
    if (held < limit) {
        return limit - held;
    }
    if (!opener_) {
        close(
            {Blame::node,
             "the peer at " + address_.to_string() + " sent too much before it has logged in"});
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
    if (got < 0 && errno == EAGAIN) {
        return false;
    }
    // A connector that has what it wanted resets the connection.
    const bool is_end = got == 0 || (said_end_ && errno == ECONNRESET);
    if (got < 0 && !is_end) {
        const int cause = errno;
        lost(words_of(cause), cause == EPIPE ? 0 : cause);
        return false;
    }
    if (is_end) {
        on_end_of_stream();
        return false;
    }
    // After finish() further bytes of the peer are ignored.
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

/// True if a whole message was there and was taken.
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
        close({Blame::node,
               "the program that answers at " + address_.to_string() + " is not stagecastd"});
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
    const bool is_last = !is_connector() && std::ranges::equal(*frame, as_bytes(kEnded));
    if (state_ == State::open && is_last) {
        on_end_of_stream();
    } else if (state_ == State::open) {
        received_bytes_ += frame->size();
        received_.push_back(std::move(*frame));
    } else if (std::ranges::equal(*frame, as_bytes(kFinished))) {
        become_open();
    } else {
        close({Blame::node,
               "the program that answers at " + address_.to_string() + " is not stagecastd"});
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
    ticket_ =
        credentials_.seal(peer_name(), payload, [this](const Result<std::string>& sealed) {
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
    ticket_ = credentials_.open(
        peer_name(), std::move(credential), [this](const Result<OpenedCredential>& opened) {
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

/// Ends a failed login; sends the peer the reason, as far as an unauthorised one may know it.
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

/// False if the socket accepts no more for now.
bool Link::write_once() {
    const ssize_t sent =
        ::send(socket_.get(), &out_[out_sent_], out_.size() - out_sent_, MSG_NOSIGNAL);
    if (sent >= 0) {
        out_sent_ += static_cast<std::size_t>(sent);
        return true;
    }
    const int cause = errno;
    if (cause != EAGAIN && cause != EINTR) {
        lost(words_of(cause), cause == EPIPE ? 0 : cause);
    }
    return cause == EINTR;
}

void Link::write_some() {
    while (state_ != State::closed && state_ != State::connecting && out_sent_ < out_.size()) {
        if (!write_once()) {
            break;
        }
    }
    // Moving the rest to the front after every small write would cost more than the writes.
    if (out_sent_ == out_.size() || out_sent_ >= kKeepSent) {
        drop_front(out_, out_sent_);
    }
    if (finishing_ && !said_end_ && state_ == State::open && out_.empty()) {
        said_end_ = true;
        say_end();
    }
}

/// After the last byte. An acceptor shuts down instead of closing: if bytes are unread at a
/// close, the kernel discards what has not been sent.
void Link::say_end() {
    if (is_connector()) {
        sealer_->seal(as_bytes(kEnded), out_);
        write_some();
    } else {
        static_cast<void>(::shutdown(socket_.get(), SHUT_WR));
    }
}

}  // namespace stage
