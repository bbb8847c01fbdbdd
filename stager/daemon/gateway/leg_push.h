// The part of a push that goes to nodes of another cluster.
//
// This node asks a gateway of that cluster to carry the object on (PASSAGE), over a link that
// both clusters' key proves. Once nodes there can take it, the leg begins: a stage of two
// members, this node and the gateway, which holds no file of the push. The gateway reports what
// became of the nodes. Where one does not answer, refuses, or is lost, the next one is asked.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/push/local_preflight.h"
#include "stager/daemon/push/push.h"
#include "stager/daemon/push/push_part.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class LegPush final : public PushPart {
  public:
    using OnDone = std::function<void()>;

    /// `request`: with the nodes of that cluster. The loop calls `on_done` once, which may
    /// destroy the object. Both references outlive it.
    LegPush(Services& services,
            PushStages& stages,
            PushRequest request,
            std::string cluster,
            OnDone on_done);

    void begin() override;
    void cancel(const std::string& why) override;
    [[nodiscard]] const StageKey& id() const override { return request_.id; }
    [[nodiscard]] nlohmann::json report() const override;

  private:
    void on_source(const Result<WorkerLook>& look);
    void ask_next();
    void on_change();
    void on_message(const TreeMessage& message);
    void tell_digest();
    void on_report(nlohmann::json report);
    void conclude();
    void on_lost(std::string why);
    void begin_leg();
    void on_verdict(const Verdict& verdict);
    void try_next(std::string why);
    void drop_link();
    void finish();
    [[nodiscard]] std::string name_of_gateway() const;
    [[nodiscard]] Stage* leg() const;

    const Basics& basics_;
    Services& services_;
    PushStages& stages_;
    PushRequest request_;
    std::string cluster_;
    std::string own_;  ///< This node's name there.
    OnDone on_done_;
    Instant began_;
    std::optional<Instant> ended_;
    std::vector<NamedText> gateways_;  ///< Those that were not asked yet, after the first.
    std::unique_ptr<LocalPreflight> source_look_;
    WorkerLook source_;
    std::optional<DigestMessage> digest_;  ///< That of its content, once read.
    bool is_reading_ = false;
    bool asks_digest_ = false;  ///< The first of gateways_ does.
    PushToken token_{};
    std::unique_ptr<DrivenLink> link_;  ///< To the first of gateways_.
    std::optional<StageKey> leg_;
    std::optional<Verdict> verdict_;              ///< The leg's.
    std::optional<nlohmann::json> their_report_;  ///< The gateway's.
    std::optional<nlohmann::json> last_report_;   ///< An earlier one's: no node has the files.
    nlohmann::json transport_ = nlohmann::json::object();
    std::string why_;
    bool is_cancelled_ = false;
    Alarm limit_;
    Alarm silence_;
    Alarm report_due_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
