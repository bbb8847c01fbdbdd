#include "stager/link/munge_client.h"

#include "transport/base/codec.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr std::size_t kReplyMax = 64U << 10U;
constexpr std::size_t kTextMax = 32U << 10U;

enum class Ask : std::uint8_t { seal = 1, open = 2 };

Result<std::string> read_sealed(Bytes reply) {
    ByteReader reader{reply};
    const bool done = reader.u8() == 0;
    std::string text = reader.text(kTextMax);
    if (!reader.finished()) {
        return Error{Blame::internal, "malformed answer of the munge helper"};
    }
    if (!done) {
        return Error{Blame::node, std::move(text)};
    }
    return text;
}

Result<OpenedCredential> read_opened(Bytes reply) {
    ByteReader reader{reply};
    const bool done = reader.u8() == 0;
    if (!done) {
        return Error{Blame::node, reader.text(kTextMax)};
    }
    OpenedCredential opened;
    const std::uint8_t state = reader.u8();
    opened.state = static_cast<CredentialState>(state);
    opened.uid = reader.u32();
    opened.encoded_at = static_cast<std::int64_t>(reader.u64());
    opened.decoded_at = static_cast<std::int64_t>(reader.u64());
    const Bytes payload = reader.blob(kTextMax);
    opened.payload.assign(payload.begin(), payload.end());
    opened.sentence = reader.text(kTextMax);
    if (!reader.finished() || state > static_cast<std::uint8_t>(CredentialState::refused)) {
        return Error{Blame::internal, "malformed answer of the munge helper"};
    }
    return opened;
}

}  // namespace

void MungeClient::attach(UniqueFd helper) {
    if (helper_) {
        lose_helper("another munge helper has replaced this one");
    }
    helper_ = std::move(helper);
    ask_next();
}

Credentials::Ticket MungeClient::seal(const std::string& /*peer*/,
                                      Bytes payload,
                                      OnSealed done) {
    ByteWriter message;
    message.u8(static_cast<std::uint8_t>(Ask::seal)).raw(payload);
    return ask(message.take(), std::move(done), nullptr);
}

Credentials::Ticket MungeClient::open(const std::string& /*peer*/,
                                      std::string credential,
                                      OnOpened done) {
    ByteWriter message;
    message.u8(static_cast<std::uint8_t>(Ask::open)).raw(as_bytes(credential));
    return ask(message.take(), nullptr, std::move(done));
}

Credentials::Ticket MungeClient::ask(std::vector<std::byte> message,
                                     OnSealed on_sealed,
                                     OnOpened on_opened) {
    Question question{.ticket = ++last_ticket_,
                      .message = std::move(message),
                      .on_sealed = std::move(on_sealed),
                      .on_opened = std::move(on_opened)};
    if (waiting_.size() >= kMungeQueueMax || question.message.size() > kReplyMax) {
        refused_.push_back(std::move(question));
    } else {
        waiting_.push_back(std::move(question));
        ask_next();
    }
    return last_ticket_;
}

void MungeClient::cancel(Ticket ticket) {
    const auto is_it = [ticket](const Question& question) { return question.ticket == ticket; };
    std::erase_if(waiting_, is_it);
    std::erase_if(refused_, is_it);
    if (asked_ && asked_->ticket == ticket) {
        asked_->on_sealed = nullptr;
        asked_->on_opened = nullptr;
    }
}

CredentialRemedies MungeClient::remedies(const std::string& /*peer*/) const {
    return {.differs = "is munge.key the same on both nodes, and AuthKeyFile= set on neither?",
            .silent = "is munged running there?"};
}

/// Asks one question at a time: the helper is not faster with more of them, and a question that
/// waits here can still be cancelled.
void MungeClient::ask_next() {
    if (!helper_ || asked_ || waiting_.empty()) {
        return;
    }
    Question question = std::move(waiting_.front());
    waiting_.pop_front();
    const auto& message = question.message;
    const ssize_t sent =
        ::send(helper_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    // A helper that can't take one message into an empty socket has ended; on_readable() sees
    // the end of its socket, and the question goes to its successor.
    if (sent != static_cast<ssize_t>(message.size())) {
        waiting_.push_front(std::move(question));
        return;
    }
    asked_ = std::move(question);
    fresh_ = true;
}

void MungeClient::on_readable(Instant now) {
    static_cast<void>(now);
    std::array<std::byte, kReplyMax> reply{};
    while (helper_) {
        const ssize_t got = ::recv(helper_.get(), reply.data(), reply.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got <= 0 || !asked_) {
            lose_helper("the munge helper has ended");
            return;
        }
        Question question = std::move(*asked_);
        asked_.reset();
        give_up_at_.reset();
        fresh_ = false;
        ask_next();
        answer(question, Bytes{reply}.first(static_cast<std::size_t>(got)));
    }
}

void MungeClient::answer(const Question& question, Bytes reply) {
    if (question.on_sealed) {
        question.on_sealed(read_sealed(reply));
    } else if (question.on_opened) {
        question.on_opened(read_opened(reply));
    }
}

void MungeClient::on_time(Instant now) {
    if (fresh_) {
        fresh_ = false;
        give_up_at_ = now + kMungeAnswerMax;
    }
    for (std::deque<Question> refused = std::exchange(refused_, {}); !refused.empty();
         refused.pop_front()) {
        fail(refused.front(), {Blame::node, "too many logins wait for munge on this node"});
    }
    if (give_up_at_ && now >= *give_up_at_) {
        lose_helper("munge on this node does not answer; is munged running?");
    }
}

std::optional<Instant> MungeClient::deadline() const {
    if (fresh_ || !refused_.empty()) {
        return Instant::min();
    }
    return give_up_at_;
}

void MungeClient::lose_helper(const std::string& why) {
    // Callbacks may open descriptors, but not under this number, which may still be watched.
    const UniqueFd lost = std::move(helper_);
    give_up_at_.reset();
    fresh_ = false;
    if (asked_) {
        const Question question = std::move(*asked_);
        asked_.reset();
        fail(question, {Blame::node, why});
    }
}

void MungeClient::fail(const Question& question, const Error& error) {
    if (question.on_sealed) {
        question.on_sealed(error);
    } else if (question.on_opened) {
        question.on_opened(error);
    }
}

}  // namespace stage
