// Opens links to the daemons of other nodes.
#pragma once

#include "stager/daemon/tree/driven_link.h"
#include "transport/base/address.h"
#include "transport/base/units.h"

#include <map>
#include <memory>
#include <string>

namespace stage {

class Credentials;
struct Config;
struct LinkPolicy;

/// The time in which a prepared link is to be used: less than its peer waits for a first
/// message (incoming.cpp).
inline constexpr Duration kPreparedMax = std::chrono::seconds{3};

class LinkDialer {
  public:
    /// All four outlive the object and the links that it opens.
    LinkDialer(Loop& loop,
               const Config& config,
               const LinkPolicy& policy,
               Credentials& credentials)
        : loop_{loop}, config_{config}, policy_{policy}, credentials_{credentials} {}

    /// Begins to connect to the daemon of `node` at `host`, a numeric address. The error says
    /// that it is none; any other failure is the closed link's. `on_change`: as DrivenLink's.
    [[nodiscard]] Result<std::unique_ptr<DrivenLink>> dial(const std::string& node,
                                                           const std::string& host,
                                                           Loop::Task on_change);
    /// Begins a link that the next dial() to the same daemon takes over, so that it waits for
    /// no handshake. dial() leaves one of more than kPreparedMax, which its peer is about to
    /// close.
    void prepare(const std::string& node, const std::string& host);
    /// Has the next dial() to `node` at `host` take this open link, which the other daemon has
    /// begun.
    void adopt(const std::string& node,
               const std::string& host,
               std::unique_ptr<DrivenLink> link);
    /// Closes a prepared link, if dial() has not taken it.
    void discard(const std::string& node, const std::string& host);

  private:
    struct Prepared {
        std::unique_ptr<DrivenLink> link;
        Instant begun;
    };
    std::unique_ptr<DrivenLink> connect(const std::string& node, const Address& address);
    std::unique_ptr<DrivenLink> take_prepared(const std::string& key);

    Loop& loop_;
    const Config& config_;
    const LinkPolicy& policy_;
    Credentials& credentials_;
    std::multimap<std::string, Prepared> prepared_{};  ///< By node and address.
};

}  // namespace stage
