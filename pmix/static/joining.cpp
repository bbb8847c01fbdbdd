#include "pmix/static/joining.h"

#include "pmix/static/stream.h"

#include <array>
#include <cerrno>

namespace stage {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectMax{2000};
constexpr milliseconds kChallengeMax{5000};
constexpr milliseconds kPause{100};

/// One attempt. An error's cause() says whether to retry.
class Attempt {
  public:
    Attempt(const HelloKey& key, const Meeting& meeting, Waiting& waiting)
        : key_{key}, meeting_{meeting}, waiting_{waiting} {}

    Result<CardTable> run(const Card& own) {
        TRY(auto socket, connect());
        MessageStream stream{std::move(socket), kMaxBusinessCardTableBytes + kMaxHelloBytes};
        Result<std::vector<std::byte>> message = next(stream, kChallengeMax);
        if (!message) {
            return std::move(message).error();
        }
        const std::optional<HelloNonce> nonce = decode_challenge(*message);
        if (!nonce) {
            return Error{Blame::node, "it does not speak as stagecast does", EPROTO};
        }
        stream.say(encode_hello_card(key_, *nonce, own));
        message = next(stream, Waiting::kForever);
        if (!message) {
            return std::move(message).error();
        }
        return decode_answer(key_, *nonce, *message);
    }

  private:
    Result<UniqueFd> connect() {
        Result<UniqueFd> socket = begin_connect(meeting_.address, meeting_.port);
        if (!socket) {
            return socket;
        }
        TRY(wait(socket->get(), POLLOUT, kConnectMax));
        TRY(connect_outcome(*socket));
        return socket;
    }

    Result<std::vector<std::byte>> next(MessageStream& stream, milliseconds at_most) {
        for (;;) {
            if (!stream.write()) {
                return Error{Blame::node, "the connection broke", ECONNRESET};
            }
            const short writable = stream.has_unsent() ? POLLOUT : 0;
            const auto events = static_cast<short>(POLLIN | writable);
            TRY(wait(stream.fd(), events, at_most));
            if (!stream.read()) {
                return Error{Blame::node, "the connection broke", ECONNRESET};
            }
            if (auto message = stream.take()) {
                return *std::move(message);
            }
        }
    }

    Status wait(int fd, short events, milliseconds at_most) {
        std::array<pollfd, 1> watched{pollfd{.fd = fd, .events = events, .revents = 0}};
        const Waiting::Woken woken = waiting_.wait(watched, at_most);
        if (woken == Waiting::Woken::ready) {
            return {};
        }
        if (woken == Waiting::Woken::paused) {
            return Error{Blame::node, "no answer", EAGAIN};
        }
        return waiting_.error(woken, "waiting for the other members");
    }

    const HelloKey& key_;
    const Meeting& meeting_;
    Waiting& waiting_;
};

/// A refusal by rank 0, another key, an interruption: a retry would not help.
bool is_final(const Error& error) {
    return error.cause() == 0 || error.cause() == EACCES || error.cause() == ECANCELED;
}

Error timed_out(const std::string& where,
                const Waiting& waiting,
                const std::optional<Error>& last) {
    std::string sentence = where + " gave no table within " + waiting.in_words();
    if (last) {
        sentence += ": " + last->sentence();
    }
    return Error{Blame::node, std::move(sentence), ETIMEDOUT}.remedy(
        "is stagecast-worker running there, and does its port accept connections from here?");
}

}  // namespace

Result<CardTable> join_group(const HelloKey& key,
                             const Meeting& meeting,
                             const Card& own,
                             const WaitLimit& wait_limit) {
    Waiting waiting{wait_limit};
    const std::string where =
        "rank 0 (" + to_string(meeting.address) + " port " + std::to_string(meeting.port) + ")";
    std::optional<Error> last;
    while (!waiting.is_over()) {
        Result<CardTable> cards = Attempt{key, meeting, waiting}.run(own);
        if (cards) {
            return cards;
        }
        if (is_final(cards.error())) {
            return std::move(cards).error().within(where);
        }
        if (cards.error().cause() != ETIMEDOUT) {
            last = std::move(cards).error();
        }
        if (waiting.wait({}, kPause) == Waiting::Woken::interrupted) {
            return waiting.error(Waiting::Woken::interrupted, where);
        }
    }
    return timed_out(where, waiting, last);
}

}  // namespace stage
