// How does rank 0 bring the members of a host file together?
//
// It listens, challenges whoever comes, takes each rank's card once, and when all are there
// gives everyone the table. Strangers are cheap: bounded in number and in time, a stranger's
// bytes in length; none of them holds up a member. A member whose connection breaks comes again
// and is known by its card.
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
    /// `key` and `hosts` must outlive it. `own` is rank 0's.
    Gathering(const HelloKey& key, const HostList& hosts, const Card& own);

    /// Until every member has the table. Who is missing when `patience` ends, is named in the
    /// error and to those who wait.
    [[nodiscard]] Result<CardTable> run(const UniqueFd& listener, const Patience& patience);

  private:
    struct Guest {
        MessageStream stream;
        IpAddress from;
        HelloNonce nonce{};
        Waiting::Clock::time_point card_until;  ///< A stranger after that.
        std::optional<std::uint16_t> rank;      ///< Once its card is taken.
        bool served = false;                    ///< The table, or a refusal, was said.
        bool refused = false;
    };

    [[nodiscard]] Waiting::Woken turn(const UniqueFd& listener, Waiting& waiting);
    [[nodiscard]] Error give_up(const Waiting& waiting);
    void welcome(const UniqueFd& listener);
    /// False: the guest is to be shown out.
    [[nodiscard]] bool attend(Guest& guest, short events);
    [[nodiscard]] bool hear(Guest& guest, Bytes message);
    [[nodiscard]] bool doubt(Guest& guest, HelloFault fault);
    void refuse(Guest& guest, const Error& why);
    void serve_table();
    void leave(const Guest& guest);
    [[nodiscard]] bool is_here(std::uint16_t rank) const;
    [[nodiscard]] bool complete() const { return cards_.size() == hosts_.size(); }
    [[nodiscard]] Error who_is_missing(const Waiting& waiting) const;
    [[nodiscard]] CardTable table() const;

    const HelloKey& key_;
    const HostList& hosts_;
    std::map<std::uint16_t, Card> cards_;
    std::set<std::uint16_t> done_;  ///< Ranks that have the table.
    std::vector<Guest> guests_;
    std::vector<std::byte> table_;          ///< Encoded, once complete().
    std::set<std::string> with_other_key_;  ///< Addresses, a few.
};

}  // namespace stage
