// Collects the cards of the members of a host file at rank 0.
//
// Rank 0 listens, sends every connection a challenge, accepts one card for each rank, and sends
// the table to all when it is complete. Unauthenticated connections are bounded in number, time
// and bytes, so that none of them delays a member. A member whose connection breaks may connect
// again and is recognised by its card.
#pragma once

#include "pmix/static/hello.h"
#include "pmix/static/stream.h"
#include "pmix/waiting.h"

#include <map>
#include <set>
#include <vector>

namespace stage {

class Gathering {
  public:
    /// `key` and `hosts` must outlive it. `own` is rank 0's card.
    Gathering(const HelloKey& key, const HostList& hosts, const Card& own);

    /// Runs until every member has the table. Members that are missing when `wait_limit` ends
    /// are named in the error and to the members that are waiting.
    [[nodiscard]] Result<CardTable> run(const UniqueFd& listener, const WaitLimit& wait_limit);

  private:
    struct Connection {
        MessageStream stream;
        IpAddress from;
        HelloNonce nonce{};
        Waiting::Clock::time_point card_until;  ///< Closed if it has sent no card by then.
        std::optional<std::uint16_t> rank;      ///< Set when its card is accepted.
        bool served = false;                    ///< The table or a refusal is queued.
        bool refused = false;
    };

    [[nodiscard]] Waiting::Woken turn(const UniqueFd& listener, Waiting& waiting);
    [[nodiscard]] Error give_up(const Waiting& waiting);
    void welcome(const UniqueFd& listener);
    /// Returns false if the connection is to be closed.
    [[nodiscard]] bool attend(Connection& connection, short events);
    [[nodiscard]] bool hear(Connection& connection, Bytes message);
    [[nodiscard]] bool doubt(Connection& connection, HelloFault fault);
    void refuse(Connection& connection, const Error& why);
    void serve_table();
    void leave(const Connection& connection);
    [[nodiscard]] bool is_here(std::uint16_t rank) const;
    [[nodiscard]] bool complete() const { return cards_.size() == hosts_.size(); }
    [[nodiscard]] Error who_is_missing(const Waiting& waiting) const;
    [[nodiscard]] CardTable table() const;

    const HelloKey& key_;
    const HostList& hosts_;
    std::map<std::uint16_t, Card> cards_;
    std::set<std::uint16_t> done_;  ///< Ranks that have the table.
    std::vector<Connection> connections_;
    std::vector<std::byte> table_;          ///< Encoded, once complete().
    std::set<std::string> with_other_key_;  ///< Addresses, for the error; bounded.
};

}  // namespace stage
