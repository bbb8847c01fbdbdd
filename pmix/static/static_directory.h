// How are cards collected when there is only a file of addresses?
//
// Rank 0 listens on a TCP port, everybody tells it the own card and gets the table (hello.h).
// For the engine alone and for tests: rank 0 holds a connection to each member for as long as
// the slowest of them takes to start.
#pragma once

#include "pmix/directory.h"
#include "pmix/static/host_file.h"

#include <vector>

namespace stage {

class HelloKey;

class StaticDirectory final : public Directory {
  public:
    struct Group {
        HostList hosts;              ///< By rank: the same on every member.
        Rank own;                    ///< An index into `hosts`.
        std::uint16_t port = 0;      ///< Where rank 0 listens, TCP; not 0.
        std::vector<std::byte> key;  ///< The group's; empty: protection none.
    };

    /// Requires own < hosts.size() <= kMaxCards and a port.
    explicit StaticDirectory(Group group);

    [[nodiscard]] Status publish(const Card& own) override;
    /// Rank 0 gives up a little before patience ends, to tell the others who is missing.
    [[nodiscard]] Result<CardTable> collect(const Patience& patience) override;

  private:
    [[nodiscard]] Result<CardTable> gather(const HelloKey& key, Patience patience) const;
    [[nodiscard]] Result<CardTable> join(const HelloKey& key, const Patience& patience) const;

    Group group_;
    Card own_;
};

}  // namespace stage
