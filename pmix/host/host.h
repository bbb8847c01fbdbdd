// The state machine of a PMIx host, which serves one job.
//
// One job is accepted, then collectives, numbered in the order of their arrival; the daemon
// answers each once under its number. After an ABORT all of them are refused, pending and later
// ones. The state machine also watches the library: a local user can block its progress thread
// in a handshake forever, so a pulse is requested regularly, and a missing one leads to FAILED.
//
// It has no side effects but through its Server: messages and upcalls in, messages out.
#pragma once

#include "pmix/host/server.h"

#include <functional>
#include <map>
#include <optional>

namespace stage::pmix_host {

/// The interval of pulse requests, and the time after which the progress thread counts as
/// stuck. A loaded machine schedules it late.
inline constexpr Duration kPulseEvery = std::chrono::milliseconds{500};
inline constexpr Duration kPulseMax = std::chrono::seconds{3};
/// Concurrent collectives of one worker.
inline constexpr std::size_t kMaxCalls = 8;

class Host {
  public:
    using Send = std::function<void(const FromHost&)>;

    /// Both arguments must outlive the host.
    Host(Server& server, Send send) : server_{server}, send_{std::move(send)} {}

    void on_message(Instant now, ToHost message);
    void on_upcall(Instant now, Upcall upcall);
    void on_time(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// DONE was received or FAILED sent: no message follows.
    [[nodiscard]] bool over() const { return over_; }

  private:
    enum class Kind : unsigned char { fence, group };
    struct Waiting {
        Call call = 0;
        Kind kind = Kind::fence;
    };

    void adopt(Instant now, HostJob job);
    void answer(std::uint32_t sequence, Kind kind, const std::function<void(Call)>& how);
    void abort();
    void registered(const Status& status);
    /// True if the daemon has to be asked, under the number that is then in `last_`.
    [[nodiscard]] bool take(Call call, Kind kind);
    void fail(const Error& error);

    Server& server_;
    Send send_;
    std::optional<HostJob> job_;
    bool aborted_ = false;
    bool over_ = false;
    std::uint32_t next_ = 0;
    std::uint32_t last_ = 0;
    std::map<std::uint32_t, Waiting> waiting_;  ///< By sequence; at most kMaxCalls.
    std::optional<Instant> ask_at_;      ///< Without a pending pulse: time of the next request.
    std::optional<Instant> give_up_at_;  ///< With a pending pulse: its deadline.
};

}  // namespace stage::pmix_host
