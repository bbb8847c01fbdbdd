// The messages between a daemon and a PMIx host process.
//
// They travel over a pair of SEQPACKET sockets; the host's end is descriptor 3. It starts as
// root before there is a job (a *spare*), enters namespaces of its own, becomes the job's user
// and serves one worker:
//
//     host   -> READY                      PMIx_server_init is done; it may wait for hours
//     daemon -> JOB                        the job that it serves from now on
//     host   -> ENV                        the worker's variables: start it now
//     host   -> CONNECTED                  the worker's PMIx_Init has arrived
//     host   -> FENCE_UP n                 this node's bytes of the n-th collective (fences and
//     daemon -> FENCE_DOWN n               groups count together, from 0); all nodes' bytes,
//     host   -> GROUP_UP n                 one after the other in rank order.
//     daemon -> GROUP_DOWN n               A context id, the same on every node
//     daemon -> ABORT                      a member failed: all waits, now and later, fail
//     host   -> FINALIZED                  the worker has finished with PMIx
//     daemon -> DONE                       (or the end of the socket) the host exits
//     host   -> FAILED                     any time: it can't serve; kill it and take another
//
// The daemon kills (by its spawner) a host that exceeds kHostReadyMax, kHostEnvMax or
// kHostConnectMax, counts it, and takes another spare once; the worker starts again with
// the new host's ENV. After a second failure cards use the worker's socket (given_directory.h).
//
//     stagecast-pmix-host --tmpdir=DIR [--psec=munge|native] [--spare=UID:GID] [--no-gate]
//
// DIR: an empty directory that root owns, one for each host. The host gives it to the uid with
// which it waits, the daemon to the job's user before JOB. The daemon removes it after the
// host's end. psec: the worker is authenticated by munge (the default) or, where
// munged is not running, by the uid that a client states (native: for tests only).
//
// The host trusts its daemon. The daemon does not trust the host, which runs as the user:
// decode_from_host() bounds everything, and descriptors that arrive with a message are closed.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stage {

inline constexpr std::uint8_t kHostVersion = 1;
inline constexpr int kHostControlFd = 3;

/// Limit from the start to READY. It takes 30 ms alone, 100 ms when four start at once on two
/// cores.
inline constexpr std::chrono::seconds kHostReadyMax{20};
/// Limit from JOB to ENV. It takes 1 ms; 100 ms with 4096 nodes.
inline constexpr std::chrono::seconds kHostEnvMax{5};
/// Limit from the worker's start to CONNECTED. It takes 5 ms.
inline constexpr std::chrono::seconds kHostConnectMax{5};

/// Limit of one node's part of a collective, bytes. A card has about 100 and PMIx adds 30.
inline constexpr std::size_t kMaxFencePartBytes = 8U << 10U;
inline constexpr std::size_t kMaxToHost = 32U << 20U;
inline constexpr std::size_t kMaxFromHost = 32U << 10U;
inline constexpr std::size_t kMaxHostNodes = 65535;
inline constexpr std::size_t kMaxNamespaceBytes = 200;

/// Assigns the host to a job. The host changes to uid and gid, without supplementary groups.
struct HostJob {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    /// The PMIx namespace, the same on every node: "stagecast.JOB.STEP.RESTART". Letters,
    /// digits, dot, hyphen, underscore.
    std::string name_space;
    Rank rank;                       ///< The local worker's: an index into `nodes`.
    std::vector<std::string> nodes;  ///< Names by rank; one worker on each.

    bool operator==(const HostJob&) const = default;
};

/// The result of a fence.
struct HostFenceDown {
    std::uint32_t sequence = 0;
    std::vector<std::byte> data;

    bool operator==(const HostFenceDown&) const = default;
};

struct HostGroupDown {
    std::uint32_t sequence = 0;
    std::uint64_t context_id = 0;

    bool operator==(const HostGroupDown&) const = default;
};

/// A member is lost: the worker's pending and later calls fail.
struct HostAbort {
    bool operator==(const HostAbort&) const = default;
};

struct HostDone {
    bool operator==(const HostDone&) const = default;
};

using ToHost = std::variant<HostJob, HostFenceDown, HostGroupDown, HostAbort, HostDone>;

struct HostReady {
    /// True if the gate (host/gate.h) protects the PMIx listener from other users. If the
    /// kernel does not allow it, the host opens no listener, writes the reason to its output,
    /// and exits. (With --no-gate, for tests, there is an unprotected listener, and this is
    /// false.)
    bool gated = false;

    bool operator==(const HostReady&) const = default;
};

/// "NAME=value" each; the daemon adds its own variables. Of these it passes on only what a
/// client of PMIx needs to find its server, is_wire_up_variable().
struct HostEnv {
    std::vector<std::string> variables;

    bool operator==(const HostEnv&) const = default;
};

struct HostConnected {
    bool operator==(const HostConnected&) const = default;
};

struct HostFinalized {
    bool operator==(const HostFinalized&) const = default;
};

struct HostFenceUp {
    std::uint32_t sequence = 0;
    std::vector<std::byte> data;

    bool operator==(const HostFenceUp&) const = default;
};

struct HostGroupUp {
    std::uint32_t sequence = 0;

    bool operator==(const HostGroupUp&) const = default;
};

/// Why this host can't serve. Blame::node: munged does not answer, PMIx is broken, or the
/// library is stuck.
struct HostFailed {
    Blame blame = Blame::internal;
    std::string sentence;

    bool operator==(const HostFailed&) const = default;
};

using FromHost = std::variant<HostReady,
                              HostEnv,
                              HostConnected,
                              HostFinalized,
                              HostFenceUp,
                              HostGroupUp,
                              HostFailed>;

/// Require every field within its limit; a sentence is truncated.
[[nodiscard]] std::vector<std::byte> encode_to_host(const ToHost& message);
[[nodiscard]] std::vector<std::byte> encode_from_host(const FromHost& message);

/// Fail (Blame::internal) on anything but exactly one well-formed message of this version.
[[nodiscard]] Result<ToHost> decode_to_host(Bytes message);
[[nodiscard]] Result<FromHost> decode_from_host(Bytes message);

/// True for a variable that tells a client where its server is and how they talk. Any other may
/// name code that the worker would load: LD_PRELOAD, but also PMIX_MCA_mca_base_component_path
/// or PMIX_PKGLIBDIR.
[[nodiscard]] bool is_wire_up_variable(std::string_view variable);

/// Sends one encoded message as one datagram. A message that is too long for a datagram travels
/// as a memfd attached to it (daemon -> host only). cause() is EAGAIN if the socket is full and
/// nothing was sent, EPIPE (without a signal) if the peer has closed it.
[[nodiscard]] Status send_host_message(int fd, Bytes message);

/// The result of one read of the socket.
struct HostReceived {
    enum class Kind : unsigned char { message, nothing_yet, closed } kind = Kind::nothing_yet;
    std::vector<std::byte> message;
};

/// For the daemon: receives a datagram of at most kMaxFromHost. Waits only if the socket
/// blocks.
[[nodiscard]] Result<HostReceived> receive_from_host(int fd);
/// For the host: also accepts a memfd, of at most kMaxToHost.
[[nodiscard]] Result<HostReceived> receive_to_host(int fd);

}  // namespace stage
