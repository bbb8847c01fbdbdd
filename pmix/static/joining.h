// How does a member of a host file find the others?
//
// It connects to rank 0 for as long as patience lasts, says its card and waits for the table.
// Rank 0 may start later, and a connection may break: both are tried again. What can't get
// better (another key, another host file, the same rank twice) ends at once.
#pragma once

#include "pmix/static/hello.h"
#include "pmix/waiting.h"

namespace stage {

struct Meeting {
    IpAddress address;  ///< Rank 0's.
    std::uint16_t port = 0;
};

[[nodiscard]] Result<CardTable> join_group(const HelloKey& key,
                                           const Meeting& meeting,
                                           const Card& own,
                                           const Patience& patience);

}  // namespace stage
