// Opens links to the daemons of other nodes.
#pragma once

#include "stager/daemon/tree/driven_link.h"

#include <memory>
#include <string>

namespace stage {

class Credentials;
struct Config;
struct LinkPolicy;

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
                                                           Loop::Task on_change) const;

  private:
    Loop& loop_;
    const Config& config_;
    const LinkPolicy& policy_;
    Credentials& credentials_;
};

}  // namespace stage
