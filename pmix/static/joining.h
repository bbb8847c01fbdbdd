// Exchanges a member's card with rank 0 of a host file.
//
// The member connects to rank 0 until the time limit, sends its card and waits for the table.
// It retries while rank 0 has not started and after a broken connection. An error that cannot
// change (another key, another host file, the same rank twice) ends it at once.
#pragma once

#include "pmix/static/hello.h"
#include "pmix/waiting.h"

namespace stage {

struct Meeting {
    IpAddress address;  ///< Rank 0's address.
    std::uint16_t port = 0;
};

[[nodiscard]] Result<CardTable> join_group(const HelloKey& key,
                                           const Meeting& meeting,
                                           const Card& own,
                                           const WaitLimit& wait_limit);

}  // namespace stage
