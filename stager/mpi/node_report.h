// What became of a call on one node, as all ranks learn it at the end.
#pragma once

#include "stager/mpi/collectives.h"
#include "transport/base/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

struct NodeReport {
    std::uint32_t rank = 0;  ///< The rank in the communicator of the node's leader.
    std::string node;
    std::uint8_t status = STAGECAST_NOT_DONE;  ///< stagecast_status
    std::string why;                           ///< If it failed.
    /// The leader of another node whose failure ended this node's part, and how it showed here.
    std::uint32_t blamed = kNobody;
    std::string blamed_for;
    std::uint64_t bytes = 0;  ///< Bytes of the file; 0: not known here.

    static constexpr std::uint32_t kNobody = 0xffffffff;

    bool operator==(const NodeReport&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode_reports(const std::vector<NodeReport>& reports);
/// Nothing for other bytes.
[[nodiscard]] std::optional<std::vector<NodeReport>> decode_reports(Bytes bytes);

/// Marks a node that others blame, and that could not report itself why it failed, as failed.
/// `reports`: by leader.
void settle_blame(std::vector<NodeReport>& reports);

/// "rank 3 (n3): /scratch/x: Permission denied", or more such sentences; "" if every node has
/// the file.
[[nodiscard]] std::string failure_text(const std::vector<NodeReport>& reports);

}  // namespace stage
