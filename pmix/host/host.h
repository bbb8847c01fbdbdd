// In which order does a PMIx host serve its one job?
//
// A table of what may come when: a job once, then collectives, numbered as they come, each
// answered once by the daemon under its number; after an ABORT all of them are refused, now and
// later. It also watches the library: a stranger on the loopback listener can hold its progress
// thread in a handshake for ever, so a pulse is asked for now and then, and one that does not
// come is a FAILED.
//
// Pure but for the Server that it is given: messages and upcalls in, messages out.
#pragma once

#include "pmix/host/server.h"

#include <functional>
#include <map>
#include <optional>

namespace stage::pmix_host {

/// How often the progress thread is asked, and when it is given up. A loaded machine wakes
/// late.
inline constexpr Duration kPulseEvery = std::chrono::milliseconds{500};
inline constexpr Duration kPulseMax = std::chrono::seconds{3};
/// Collectives that a worker may have under way at once.
inline constexpr std::size_t kMaxCalls = 8;

class Host {
  public:
    using Send = std::function<void(const FromHost&)>;

    /// Both must outlive it.
    Host(Server& server, Send send) : server_{server}, send_{std::move(send)} {}

    void on_message(Instant now, ToHost message);
    void on_upcall(Instant now, Upcall upcall);
    void on_time(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// DONE was said, or FAILED: nothing more will be.
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
    /// True if the daemon is to be asked, under the number that is then in `last_`.
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
    std::optional<Instant> ask_at_;             ///< No pulse is under way: when to ask for one.
    std::optional<Instant> give_up_at_;         ///< One is: when it is too late.
};

}  // namespace stage::pmix_host
