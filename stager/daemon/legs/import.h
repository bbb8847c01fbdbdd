// Brings a job's files from another cluster to the job's first node.
//
// Before the job's own stage begins, its first node asks a gateway of the cluster that has the
// files (Routes=), with the user's ticket (IMPORT). If the gateway agrees, it begins a leg: a
// stage of two members, the gateway and this node, over the link by which it was asked. The leg
// fills the file of a passage (transport/run/passage/passage.h). The worker of the job's stage
// sends on what is in it, and brings the files to this node, too, while the leg is under way.
// Where a gateway does not answer, refuses or is lost, the next one is asked, and after the
// last one the first: for as long as every round brings some blocks. A leg that follows
// another brings what is still missing.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/legs/leg_permits.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"
#include "transport/run/passage/passage.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class Import {
  public:
    struct Hooks {
        /// The leg has begun: the part of the job's worker here.
        std::function<void(RunPassage)> on_ready;
        /// No gateway sends the files: error(). After on_ready the worker has it.
        std::function<void()> on_fail;
    };

    /// `request`: with files of another cluster, made on its job's first node. `services`
    /// outlives the object. A hook is called once, from the loop, and may destroy the object.
    Import(Services& services, const StageRequest& request, Hooks hooks);
    Import(const Import&) = delete;
    Import& operator=(const Import&) = delete;
    ~Import();

    void begin();
    /// The job's stage has failed: nothing more need come.
    void cancel(const std::string& why);
    /// "clustera/gw1": the gateway that is asked, or was asked last.
    [[nodiscard]] const std::string& gateway() const { return gateway_; }
    /// Why no gateway sends the files; no node of this cluster is to blame for it.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    void ask_next();
    void on_change();
    void on_message(TreeMessage message);
    void on_export(const ExportMessage& answer);
    [[nodiscard]] Status make_room(const ExportMessage& object);
    void on_begin(BegunLeg leg);
    void on_leg_end(const Verdict& verdict);
    void try_next(Blame blame, std::string why);
    [[nodiscard]] bool is_in_vain();
    [[nodiscard]] bool has_all() const;  ///< The leg has brought everything.
    void fail(const Error& error);
    void drop_link();

    Services& services_;
    const Basics& basics_;
    StageRequest request_;
    Hooks hooks_;
    std::string cluster_;
    std::string leg_specs_;
    std::vector<NamedText> gateways_;
    std::size_t asked_ = 0;     ///< How often one was.
    std::size_t in_vain_ = 0;   ///< In a row, since the last new block.
    std::uint32_t blocks_ = 0;  ///< That were here when the last leg ended.
    std::string gateway_;
    PushToken token_{};
    std::unique_ptr<DrivenLink> link_;  ///< To the gateway, until it is the leg's.
    std::shared_ptr<const UniqueFd> file_;
    std::optional<Passage> passage_;
    std::optional<ExportMessage> object_;  ///< The files, in the first gateway's words.
    bool is_ready_ = false;                ///< on_ready was called.
    /// What a gateway has said of files or ticket: another one that does not answer is no
    /// better reason.
    std::optional<Error> users_error_;
    std::optional<BegunLeg> leg_;  ///< The last one.
    bool is_leg_open_ = false;
    bool has_consented_ = false;  ///< To what the gateway has offered.
    std::optional<Error> error_;
    bool is_over_ = false;
    Alarm silence_;
    Alarm again_;  ///< Until the next gateway is asked.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The specs of the leg for `specs`: the files alone, without their destinations. Fails
/// (Blame::user) for what can't come from another cluster.
[[nodiscard]] Result<std::string> specs_of_leg(const std::string& specs);

}  // namespace stage
