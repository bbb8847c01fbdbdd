#include "pmix/static/gathering.h"

#include "transport/base/random_value.h"

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

/// Connections beyond the members' own.
constexpr std::size_t kMaxStrangers = 64;
/// From a connection to its card: a member has it ready.
constexpr std::chrono::seconds kCardMax{5};
constexpr std::chrono::milliseconds kLookAround{500};
constexpr std::size_t kMaxNamed = 4;

}  // namespace

Gathering::Gathering(const HelloKey& key, const HostList& hosts, const Card& own)
    : key_{key}, hosts_{hosts} {
    cards_.emplace(own.rank.value(), own);
    done_.insert(own.rank.value());
}

Result<CardTable> Gathering::run(const UniqueFd& listener, const Patience& patience) {
    Waiting waiting{patience};
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
    for (Guest& guest : guests_) {
        refuse(guest, missing);
    }
    return missing;
}

Waiting::Woken Gathering::turn(const UniqueFd& listener, Waiting& waiting) {
    const bool full = guests_.size() >= hosts_.size() + kMaxStrangers;
    std::vector<pollfd> watched{
        {.fd = full ? -1 : listener.get(), .events = POLLIN, .revents = 0}};
    for (const Guest& guest : guests_) {
        const int writable = guest.stream.has_unsent() ? POLLOUT : 0;
        const auto events = static_cast<short>(POLLIN | writable);
        watched.push_back({.fd = guest.stream.fd(), .events = events, .revents = 0});
    }
    const Waiting::Woken woken = waiting.wait(watched, kLookAround);
    std::vector<Guest> staying;
    for (std::size_t i = 0; i < guests_.size(); ++i) {
        if (attend(guests_[i], watched[i + 1].revents)) {
            staying.push_back(std::move(guests_[i]));
        } else {
            leave(guests_[i]);
        }
    }
    guests_ = std::move(staying);
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
    Guest guest{.stream = MessageStream{std::move(visitor->socket), kMaxHelloBytes},
                .from = visitor->from,
                .nonce = random_value<HelloNonce>(),
                .card_until = Waiting::Clock::now() + kCardMax,
                .rank = {}};
    guest.stream.say(encode_challenge(guest.nonce));
    if (guest.stream.write()) {
        guests_.push_back(std::move(guest));
    }
}

bool Gathering::attend(Guest& guest, short events) {
    if ((events & POLLIN) != 0) {
        if (!guest.stream.read()) {
            return false;
        }
        if (const auto message = guest.stream.take(); message && !hear(guest, *message)) {
            return false;
        }
    }
    if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0 || !guest.stream.write()) {
        return false;
    }
    return guest.rank || Waiting::Clock::now() < guest.card_until;
}

bool Gathering::hear(Guest& guest, Bytes message) {
    if (guest.rank || guest.refused) {
        return false;  // A member has said all that it has to say.
    }
    const HelloCard hello = decode_hello_card(key_, guest.nonce, message);
    if (!hello.card) {
        return doubt(guest, hello.fault);
    }
    const std::uint16_t rank = hello.card->rank.value();
    const auto known = cards_.find(rank);
    const bool same = known != cards_.end() && known->second == *hello.card;
    if (rank >= hosts_.size() || (known != cards_.end() && !same)) {
        refuse(guest,
               Error{Blame::user, "rank " + std::to_string(rank) + " is here already"}.remedy(
                   "is a program started twice, or with another's --rank?"));
        return true;
    }
    cards_.insert_or_assign(rank, *hello.card);
    guest.rank = rank;
    return true;
}

/// True if it is worth an answer.
bool Gathering::doubt(Guest& guest, HelloFault fault) {
    if (fault == HelloFault::other_key) {
        if (with_other_key_.size() < kMaxNamed) {
            with_other_key_.insert(to_string(guest.from));
        }
        refuse(guest, {Blame::user, "the keys differ"});
    } else if (fault == HelloFault::other_hosts) {
        refuse(guest,
               Error{Blame::user, "rank 0 has another host file"}.remedy(
                   "give every member the same one"));
    }
    return fault != HelloFault::not_ours;
}

void Gathering::refuse(Guest& guest, const Error& why) {
    guest.refused = true;
    guest.stream.say(encode_refused(key_, guest.nonce, why));
    static_cast<void>(guest.stream.write());
}

void Gathering::serve_table() {
    if (table_.empty()) {
        table_ = encode_table(table());
    }
    for (Guest& guest : guests_) {
        if (guest.rank && !guest.served) {
            guest.served = true;
            guest.stream.say(table_, key_.mac(guest.nonce, table_));
            // What a broken connection does not take, the next round's read() notices.
            static_cast<void>(guest.stream.write());
        }
    }
}

/// A member closes when it has the table. One that goes before may come again with another
/// card.
void Gathering::leave(const Guest& guest) {
    if (!guest.rank) {
        return;
    }
    if (guest.served && !guest.stream.has_unsent()) {
        done_.insert(*guest.rank);
    } else if (!complete() && !is_here(*guest.rank)) {
        cards_.erase(*guest.rank);
    }
}

/// Another connection of that rank is there.
bool Gathering::is_here(std::uint16_t rank) const {
    return std::count_if(guests_.begin(), guests_.end(), [rank](const Guest& guest) {
               return guest.rank == rank && guest.stream.fd() >= 0;
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
                                               : " did not come within ");
    sentence += waiting.in_words();
    for (const std::string& address : with_other_key_) {
        sentence += "; " + address + " came with another key";
    }
    return Error{Blame::node, std::move(sentence), ETIMEDOUT}.remedy(
        "is stagecast-worker running there, and can it reach rank 0 by TCP?");
}

}  // namespace stage
