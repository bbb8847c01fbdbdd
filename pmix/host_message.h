// What do a daemon and a node's PMIx host process say to each other?
//
// Over a pair of SEQPACKET sockets, the host's end being descriptor 3. The host is started as
// root before there is a job (a *spare*), enters namespaces of its own, becomes the job's user
// and serves one worker:
//
//     host   -> READY                      PMIx_server_init is done; it may wait for hours
//     daemon -> JOB                        whose it is now
//     host   -> ENV                        the worker's variables: start it now
//     host   -> CONNECTED                  the worker's PMIx_Init reached us
//     host   -> FENCE_UP n                 this node's bytes of the n-th collective (fences and
//     daemon -> FENCE_DOWN n               groups count together, from 0); all nodes' bytes,
//     host   -> GROUP_UP n                 one after the other in rank order.
//     daemon -> GROUP_DOWN n               A context id, the same on every node
//     daemon -> ABORT                      a peer is dead: all waits, now and later, fail
//     host   -> FINALIZED                  the worker is through with PMIx: the host may go
//     daemon -> DONE                       (or the end of the socket) the host exits
//     host   -> FAILED                     any time: it can't serve; kill it and take another
//
// The daemon kills (by its spawner) a host that leaves kHostReadyMax, kHostEnvMax or
// kHostConnectMax unkept, counts it, and takes another spare once; the worker starts again with
// the new host's ENV. After that cards go over the worker's own socket (given_directory.h).
//
//     stagecast-pmix-host --tmpdir=DIR [--psec=munge|native] [--spare=UID:GID] [--no-gate]
//
// DIR: an empty directory that root owns, one for each host; the host gives it to the uid as
// which it waits, the daemon to the job's user before JOB, and removes it (and what is in it)
// after the host's end. psec: who may be the worker is decided by munge (the default) or, where
// munged is not running, by what a client says of itself (native: tests only).
//
// The host trusts its daemon. The daemon does not trust the host, which runs as the user:
// decode_from_host() bounds everything, and descriptors sent along are dropped unseen.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace stage {

inline constexpr std::uint8_t kHostVersion = 1;
inline constexpr int kHostControlFd = 3;

/// From its start to READY. 30 ms alone, 100 ms when four start at once on two cores.
inline constexpr std::chrono::seconds kHostReadyMax{20};
/// From JOB to ENV. 1 ms; 100 ms with 4096 nodes.
inline constexpr std::chrono::seconds kHostEnvMax{5};
/// From the worker's start to CONNECTED. 5 ms.
inline constexpr std::chrono::seconds kHostConnectMax{5};

/// One node's part of a collective, bytes. A card is about 100 and PMIx adds 30.
inline constexpr std::size_t kMaxFencePartBytes = 8U << 10U;
inline constexpr std::size_t kMaxToHost = 32U << 20U;
inline constexpr std::size_t kMaxFromHost = 32U << 10U;
inline constexpr std::size_t kMaxHostNodes = 65535;
inline constexpr std::size_t kMaxNamespaceBytes = 200;

/// "You are this job's." The host sets uid, gid and no other group.
struct HostJob {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    /// The PMIx namespace, the same on every node: "stagecast.JOB.STEP.RESTART". Letters,
    /// digits, dot, hyphen, underscore.
    std::string name_space;
    Rank rank;                       ///< Of the one worker here: an index into `nodes`.
    std::vector<std::string> nodes;  ///< Names by rank; one worker on each.

    bool operator==(const HostJob&) const = default;
};

/// What became of a collective.
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

/// A member is lost: the worker's calls fail now, and the ones that come later.
struct HostAbort {
    bool operator==(const HostAbort&) const = default;
};

struct HostDone {
    bool operator==(const HostDone&) const = default;
};

using ToHost = std::variant<HostJob, HostFenceDown, HostGroupDown, HostAbort, HostDone>;

struct HostReady {
    /// The PMIx listener is out of every other user's reach, behind a gate (host/gate.h). If
    /// not, because the kernel does not allow it, there is no listener either, the host's
    /// output has the reason, and it ends. (--no-gate, for tests: a listener that all reach,
    /// and false.)
    bool gated = false;

    bool operator==(const HostReady&) const = default;
};

/// "NAME=value" each; complete but for what the daemon adds.
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

/// Why this host can't serve. Blame::node: munged is silent, PMIx is broken, it is wedged.
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

/// Require every field within its limit; a sentence is cut.
[[nodiscard]] std::vector<std::byte> encode_to_host(const ToHost& message);
[[nodiscard]] std::vector<std::byte> encode_from_host(const FromHost& message);

/// Fail (Blame::internal) on anything but exactly one well-formed message of our version.
[[nodiscard]] Result<ToHost> decode_to_host(Bytes message);
[[nodiscard]] Result<FromHost> decode_from_host(Bytes message);

/// Sends one encoded message, one datagram; what is longer than a datagram may be travels as a
/// memfd beside it (only daemon -> host). EAGAIN as cause(): the socket is full, nothing was
/// sent. A peer that is gone: EPIPE, without a signal.
[[nodiscard]] Status send_host_message(int fd, Bytes message);

/// What a look at the socket gave.
struct HostReceived {
    enum class Kind : unsigned char { message, nothing_yet, closed } kind = Kind::nothing_yet;
    std::vector<std::byte> message;
};

/// The daemon's side: a datagram of at most kMaxFromHost. Waits only if the socket blocks.
[[nodiscard]] Result<HostReceived> receive_from_host(int fd);
/// The host's side: also takes a memfd, of at most kMaxToHost.
[[nodiscard]] Result<HostReceived> receive_to_host(int fd);

}  // namespace stage
