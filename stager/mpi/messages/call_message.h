// The messages between libstagecast-mpi, in an MPI process, and the worker that it started.
//
// Both belong to one user and one release. The worker on the root's node makes the offer, which
// MPI carries to the other nodes' libraries; each passes it to a worker of its own. Blobs of
// workers reach each other by collectives of MPI.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/settings/choices.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace stage {

/// The worker's end of the socket pair, SOCK_SEQPACKET.
inline constexpr int kCallFd = 3;
/// The only argument of such a worker.
inline constexpr const char* kCallArgument = "--for-mpi";
/// Limit of one message, bytes: a table of the cards of 65535 members.
inline constexpr std::size_t kMaxCallBytes = 32U << 20U;
inline constexpr std::size_t kMaxCallMembers = 65535;
inline constexpr std::size_t kMaxCallCardBytes = 4096;
/// Limit of a manifest in an offer, bytes. A longer one arrives with the blocks.
inline constexpr std::size_t kMaxCallManifestBytes = 64U << 10U;

enum class CallExisting : std::uint8_t { leave = 0, newer = 1, overwrite = 2 };

/// What the root asks for.
struct CallOrder {
    std::string source;       ///< Absolute.
    std::string destination;  ///< Absolute; empty: the source's path.
    CallExisting existing = CallExisting::leave;
    bool is_on_each_node = false;
    bool is_durable = false;
    Transport transport = Transport::automatic;
    std::string interfaces{};              ///< Names as in stagecast.conf; empty: none.
    std::uint64_t rate_max = 0;            ///< Bits per second; 0: no limit.
    std::chrono::milliseconds timeout{0};  ///< 0: no limit.
    std::chrono::milliseconds stall_timeout{0};

    bool operator==(const CallOrder&) const = default;
};

/// An address of a host, with the length of its subnet's prefix.
struct CallAddress {
    IpAddress ip;
    std::uint8_t prefix_bits = 0;

    bool operator==(const CallAddress&) const = default;
};

/// To the root's worker: opens the source.
struct CallSend {
    CallOrder order;
    std::uint16_t nodes = 1;

    bool operator==(const CallSend&) const = default;
};

/// The root's worker's first answer. It contains the key: only the communicator's ranks get it.
struct CallOffer {
    CallOrder order;           ///< With the transport decided, and its interfaces.
    std::int64_t seconds = 0;  ///< The time of the source.
    std::uint32_t nanoseconds = 0;
    std::uint64_t bytes = 0;
    std::uint32_t owner = 0;          ///< The uid of the source's owner.
    std::vector<std::byte> manifest;  ///< May be empty: too long.
    std::array<std::byte, 32> key{};
    std::uint8_t ttl = 1;
    std::uint8_t dscp = 8;
    Protection protection = Protection::encrypt;

    bool operator==(const CallOffer&) const = default;
};

/// To the worker of another node, `node` of `nodes`.
struct CallReceive {
    CallOffer offer;
    std::uint16_t node = 0;
    std::uint16_t nodes = 1;

    bool operator==(const CallReceive&) const = default;
};

/// The destination was examined, and has its temporary file and its space.
struct CallReady {
    bool is_needed = false;  ///< False: the existing file stays, or the root has no copy.
    std::vector<CallAddress> addresses;  ///< At which this host may be reached, the best first.

    bool operator==(const CallReady&) const = default;
};

/// To a worker that takes part, as member `own` of `size`; the source is member 0.
struct CallGroup {
    Rank own;
    std::uint32_t size = 1;
    IpAddress address;  ///< This member's own.

    bool operator==(const CallGroup&) const = default;
};

/// The own business card, and those of all members in their order.
struct CallCard {
    std::vector<std::byte> card;

    bool operator==(const CallCard&) const = default;
};
struct CallCards {
    std::vector<std::vector<std::byte>> cards;

    bool operator==(const CallCards&) const = default;
};

struct CallProgress {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_total = 0;

    bool operator==(const CallProgress&) const = default;
};

/// A worker's last message; any other one may be replaced by it.
struct CallEnd {
    bool is_good = false;
    bool is_held = false;      ///< The file has its name here, whatever became of the others'.
    bool is_of_other = false;  ///< Another member failed: `culprit`.
    Rank culprit;
    std::string why;

    bool operator==(const CallEnd&) const = default;
};

using CallMessage = std::variant<CallSend,
                                 CallOffer,
                                 CallReceive,
                                 CallReady,
                                 CallGroup,
                                 CallCard,
                                 CallCards,
                                 CallProgress,
                                 CallEnd>;

[[nodiscard]] std::vector<std::byte> encode_call(const CallMessage& message);
/// Fails (Blame::internal) unless `bytes` are exactly one message of this release.
[[nodiscard]] Result<CallMessage> decode_call(Bytes bytes);

/// Sends one message; waits while the socket is full. Fails with EPIPE, without a signal, if
/// the other end is closed.
[[nodiscard]] Status send_call(int socket, const CallMessage& message);
/// Waits for one message. cause() is ECONNRESET if the other end was closed.
[[nodiscard]] Result<CallMessage> receive_call(int socket);

}  // namespace stage
