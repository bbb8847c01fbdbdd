#include "pmix/static/gathering.h"

#include "transport/base/random_value.h"

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

/// Connections allowed in addition to the members'.
constexpr std::size_t kMaxUnauthenticated = 64;
/// Limit from a connection to its card, which a member has ready.
constexpr std::chrono::seconds kCardMax{5};
constexpr std::chrono::milliseconds kLookAround{500};
constexpr std::size_t kMaxNamed = 4;

}  // namespace

Gathering::Gathering(const HelloKey& key, const HostList& hosts, const Card& own)
    : key_{key}, hosts_{hosts} {
    cards_.emplace(own.rank.value(), own);
    done_.insert(own.rank.value());
}

Result<CardTable> Gathering::run(const UniqueFd& listener, const WaitLimit& wait_limit) {
    Waiting waiting{wait_limit};
    while (done_.size() < hosts_.size()) {
        if (complete()) {
            serve_table();
        }
        const Waiting::Woken woken = turn(listener, waiting);
        if (woken == Waiting::Woken::interrupted) {
            return waiting.error(woken, "waiting for the members");
        }
        if (woken == Waiting::Woken::over) {
            return give_up(waiting);
        }
    }
    return table();
}

Error Gathering::give_up(const Waiting& waiting) {
    Error missing = who_is_missing(waiting);
    for (Connection& connection : connections_) {
        refuse(connection, missing);
    }
    return missing;
}

Waiting::Woken Gathering::turn(const UniqueFd& listener, Waiting& waiting) {
    const bool full = connections_.size() >= hosts_.size() + kMaxUnauthenticated;
    std::vector<pollfd> watched{
        {.fd = full ? -1 : listener.get(), .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections_) {
        const int writable = connection.stream.has_unsent() ? POLLOUT : 0;
        const auto events = static_cast<short>(POLLIN | writable);
        watched.push_back({.fd = connection.stream.fd(), .events = events, .revents = 0});
    }
    const Waiting::Woken woken = waiting.wait(watched, kLookAround);
    std::vector<Connection> staying;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        if (attend(connections_[i], watched[i + 1].revents)) {
            staying.push_back(std::move(connections_[i]));
        } else {
            leave(connections_[i]);
        }
    }
    connections_ = std::move(staying);
    if (watched[0].revents != 0) {
        welcome(listener);
    }
    return woken;
}

void Gathering::welcome(const UniqueFd& listener) {
    std::optional<Visitor> visitor = accept_tcp(listener);
    if (!visitor) {
        return;
    }
    Connection connection{.stream = MessageStream{std::move(visitor->socket), kMaxHelloBytes},
                          .from = visitor->from,
                          .nonce = random_value<HelloNonce>(),
                          .card_until = Waiting::Clock::now() + kCardMax,
                          .rank = {}};
    connection.stream.say(encode_challenge(connection.nonce));
    if (connection.stream.write()) {
        connections_.push_back(std::move(connection));
    }
}

bool Gathering::attend(Connection& connection, short events) {
    if ((events & POLLIN) != 0) {
        if (!connection.stream.read()) {
            return false;
        }
        if (const auto message = connection.stream.take();
            message && !hear(connection, *message)) {
            return false;
        }
    }
    if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0 || !connection.stream.write()) {
        return false;
    }
    return connection.rank || Waiting::Clock::now() < connection.card_until;
}

bool Gathering::hear(Connection& connection, Bytes message) {
    if (connection.rank || connection.refused) {
        return false;  // A member sends only one message.
    }
    const HelloCard hello = decode_hello_card(key_, connection.nonce, message);
    if (!hello.card) {
        return doubt(connection, hello.fault);
    }
    const std::uint16_t rank = hello.card->rank.value();
    const auto known = cards_.find(rank);
    const bool same = known != cards_.end() && known->second == *hello.card;
    if (rank >= hosts_.size() || (known != cards_.end() && !same)) {
        refuse(
            connection,
            Error{Blame::user, "rank " + std::to_string(rank) + " is connected already"}.remedy(
                "is a program started twice, or with another's --rank?"));
        return true;
    }
    cards_.insert_or_assign(rank, *hello.card);
    connection.rank = rank;
    return true;
}

/// Returns true if the peer gets an answer.
bool Gathering::doubt(Connection& connection, HelloFault fault) {
    if (fault == HelloFault::other_key) {
        if (with_other_key_.size() < kMaxNamed) {
            with_other_key_.insert(to_string(connection.from));
        }
        refuse(connection, {Blame::user, "the keys differ"});
    } else if (fault == HelloFault::other_hosts) {
        refuse(connection,
               Error{Blame::user, "rank 0 has another host file"}.remedy(
                   "give every member the same one"));
    }
    return fault != HelloFault::not_ours;
}

void Gathering::refuse(Connection& connection, const Error& why) {
    connection.refused = true;
    connection.stream.say(encode_refused(key_, connection.nonce, why));
    static_cast<void>(connection.stream.write());
}

void Gathering::serve_table() {
    if (table_.empty()) {
        table_ = encode_table(table());
    }
    for (Connection& connection : connections_) {
        if (connection.rank && !connection.served) {
            connection.served = true;
            connection.stream.say(table_, key_.mac(connection.nonce, table_));
            // The next read() notices a broken connection.
            static_cast<void>(connection.stream.write());
        }
    }
}

/// A member closes its connection when it has the table. One that closes earlier may connect
/// again with another card.
void Gathering::leave(const Connection& connection) {
    if (!connection.rank) {
        return;
    }
    if (connection.served && !connection.stream.has_unsent()) {
        done_.insert(*connection.rank);
    } else if (!complete() && !is_here(*connection.rank)) {
        cards_.erase(*connection.rank);
    }
}

/// True if that rank has a connection.
bool Gathering::is_here(std::uint16_t rank) const {
    return std::count_if(
               connections_.begin(), connections_.end(), [rank](const Connection& connection) {
                   return connection.rank == rank && connection.stream.fd() >= 0;
               }) > 1;
}

CardTable Gathering::table() const {
    CardTable cards;
    for (const auto& [rank, card] : cards_) {
        cards.push_back(card);
    }
    return cards;
}

Error Gathering::who_is_missing(const Waiting& waiting) const {
    std::string names;
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
        const auto number = static_cast<std::uint16_t>(rank);
        if (complete() ? done_.contains(number) : cards_.contains(number)) {
            continue;
        }
        if (++count <= kMaxNamed) {
            names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank) + " (" +
                     to_string(hosts_[rank]) + ")";
        }
    }
    if (count > kMaxNamed) {
        names += " and " + std::to_string(count - kMaxNamed) + " more";
    }
    std::string sentence = names + (complete() ? " did not take the table of cards within "
                                               : " did not connect within ");
    sentence += waiting.in_words();
    for (const std::string& address : with_other_key_) {
        sentence += "; " + address + " connected with another key";
    }
    return Error{Blame::node, std::move(sentence), ETIMEDOUT}.remedy(
        "is stagecast-worker running there, and can it reach rank 0 by TCP?");
}

}  // namespace stage
