// Collects business cards with a file of addresses only.
//
// Rank 0 listens on a TCP port; every member sends it its card and receives the table
// (hello.h). It is used by the engine alone and by tests: rank 0 holds a connection to each
// member until the slowest one has started.
#pragma once

#include "pmix/directory.h"
#include "pmix/static/host_file.h"

#include <vector>

namespace stage {

class HelloKey;

class StaticDirectory final : public Directory {
  public:
    struct Group {
        HostList hosts;              ///< By rank; the same on every member.
        Rank own;                    ///< An index into `hosts`.
        std::uint16_t port = 0;      ///< Rank 0's TCP port; not 0.
        std::vector<std::byte> key;  ///< The group key; empty: protection none.
    };

    /// Requires own < hosts.size() <= kMaxCards and a port.
    explicit StaticDirectory(Group group);

    [[nodiscard]] Status publish(const Card& own) override;
    /// Rank 0 gives up slightly before its time limit, to inform the other members which ranks
    /// are missing.
    [[nodiscard]] Result<CardTable> collect(const WaitLimit& wait_limit) override;

  private:
    [[nodiscard]] Result<CardTable> gather(const HelloKey& key, WaitLimit wait_limit) const;
    [[nodiscard]] Result<CardTable> join(const HelloKey& key,
                                         const WaitLimit& wait_limit) const;

    Group group_;
    Card own_;
};

}  // namespace stage
