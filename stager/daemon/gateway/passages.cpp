#include "stager/daemon/gateway/passages.h"

#include "stager/control/push_key.h"
#include "stager/daemon/base/json_text.h"
#include "stager/daemon/legs/leg_permits.h"
#include "stager/link/cluster_name.h"
#include "stager/link/link.h"
#include "transport/base/log.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr Duration kPulseEvery = std::chrono::seconds{1};
/// From the gateway's consent to the leg's SETUP, which is sent at once.
constexpr Duration kLegDue = std::chrono::seconds{30};

std::vector<std::byte> refusal(const std::string& why) {
    return encode(TreeMessage{ExaminedMessage{.sentence = why, .bytes = 0, .digest = {}}});
}

}  // namespace

Passages::Passages(Services& services, PushStages& stages)
    : services_{services}, basics_{services.basics}, stages_{stages} {
    if (!basics_.config.cluster_name.empty()) {
        // Other clusters' daemons call it by that, maybe before slurmd has given it.
        static_cast<void>(own_node_name(services.links));
    }
}

std::optional<std::string> Passages::objection_to(const PassageMessage& message,
                                                  const std::string& source) const {
    const Config& config = basics_.config;
    const std::string cluster = cluster_of(source);
    if (!config.enabled) {
        return "staging is switched off there (Enabled=no in stagecast.conf)";
    }
    if (std::ranges::find(config.accept_from, cluster) == config.accept_from.end()) {
        return "AcceptFrom in its stagecast.conf does not name cluster " + printable(cluster) +
               ", so nothing may be pushed from there";
    }
    if (entries_.size() >= kMaxPassages) {
        return "it carries " + std::to_string(kMaxPassages) +
               " pushes of other clusters; try again later";
    }
    if (config.max_bytes > 0 && message.object_bytes > config.max_bytes) {
        return "the files have " + std::to_string(message.object_bytes) +
               " bytes, more than MaxBytes there allows";
    }
    return std::nullopt;
}

void Passages::on_passage(const PassageMessage& message, std::unique_ptr<DrivenLink> link) {
    const std::string source = link->link().peer_name();
    auto why = objection_to(message, source);
    auto file =
        why ? Result<UniqueFd>{UniqueFd{}}
            : Passage::make(basics_.config.stage_root, message.blocks, message.object_bytes);
    if (!why && !file) {
        why = file.error().sentence();
    }
    auto passage = why ? Result<Passage>{Error{Blame::node, *why}}
                       : Passage::open(UniqueFd{::fcntl(file->get(), F_DUPFD_CLOEXEC, 0)});
    if (!passage) {
        ++basics_.counters.messages_refused;
        basics_.log.warn("refused a push of another cluster",
                         {{"node", source}, {"why", passage.error().sentence()}});
        send_last(basics_.loop, std::move(link), refusal(passage.error().sentence()));
        return;
    }
    const Place entry = entries_.insert(entries_.end(), Entry{});
    entry->message = message;
    entry->source = source;
    entry->passage = *std::move(passage);
    entry->link = std::move(link);
    entry->link->set_on_change([this, entry] { on_change(entry); });
    begin(entry, std::make_shared<const UniqueFd>(*std::move(file)));
}

void Passages::begin(Place entry, const std::shared_ptr<const UniqueFd>& file) {
    const PassageMessage& message = entry->message;
    entry->pulse = std::make_unique<Alarm>(basics_.loop, [this, entry] {
        entry->link->send(encode(TreeMessage{PulseMessage{}}));
        entry->pulse->set(basics_.loop.now() + kPulseEvery);
    });
    entry->pulse->set(basics_.loop.now() + kPulseEvery);
    entry->digest_due =
        std::make_unique<Alarm>(basics_.loop, [entry] { entry->push->compare_present({}); });
    entry->leg_due = std::make_unique<Alarm>(basics_.loop, [this, entry] {
        fail_leg(entry, "cluster " + cluster_of(entry->source) + " did not begin to send");
    });
    entry->push = std::make_unique<Push>(
        services_,
        stages_,
        PushRequest{.id = random_push_key(),
                    .mode = PushMode::push,
                    .rate = message.rate,
                    .node_list = message.nodes,
                    .specs = message.specs},
        [this, entry] { on_push_end(entry); },
        PassedOn{.source = {.manifest = message.manifest,
                            .bytes = message.object_bytes,
                            .blocks = message.blocks,
                            .object_bytes = message.object_bytes},
                 .passage = {.file = file,
                             .purpose = WorkerPurpose::pass_on,
                             .user = services_.leg_user},
                 .on_present = [this, entry] { on_present(entry); },
                 .on_asked = [this, entry, file] { on_asked(entry, file); }});
    entry->push->begin();
}

/// The source knows whether what these nodes have is what it would send. If it is not known in
/// time, all of them are sent it.
void Passages::on_present(Place entry) {
    entry->digest_due->set(basics_.loop.now() + basics_.config.stage_timeout);
    entry->link->send(encode(TreeMessage{DigestMessage{}}));
}

/// Some nodes can take it: the leg may begin.
void Passages::on_asked(Place entry, const std::shared_ptr<const UniqueFd>& file) {
    const PassageMessage& message = entry->message;
    services_.leg_permits.grant(
        {.token = message.token,
         .source = entry->source,
         .specs = message.specs,
         .passage = {.file = file,
                     .purpose = message.ack == PassageAck::nodes ? WorkerPurpose::take_in
                                                                 : WorkerPurpose::take_in_alone,
                     .user = services_.leg_user},
         .on_begin =
             [this, entry](const BegunLeg& /*leg*/) {
                 entry->leg_due->set(std::nullopt);
                 entry->push->go_on();
             },
         .on_end = [this, entry](const Verdict& verdict) { on_leg_end(entry, verdict); }});
    entry->leg_due->set(basics_.loop.now() + kLegDue);
    entry->link->send(encode(TreeMessage{ExaminedMessage{}}));
}

/// What the push still lacks then will not come.
void Passages::fail_leg(Place entry, const std::string& reason) {
    const std::string why = printable(reason);
    services_.leg_permits.withdraw(entry->message.token);
    entry->leg_due->set(std::nullopt);
    entry->passage->end(Passage::Side::inward, Passage::End::failed, why);
    if (!entry->is_push_over) {
        entry->push->cancel(why);
    }
}

/// The gateway has all, and the source was not to wait for more. (The leg's worker says so
/// before it reports DONE, and so before the source's daemon can end the leg or the link.)
bool Passages::goes_on_alone(const Entry& entry) {
    return entry.message.ack == PassageAck::gateway &&
           entry.passage->ended(Passage::Side::inward).how == Passage::End::good;
}

void Passages::on_leg_end(Place entry, const Verdict& verdict) {
    entry->is_leg_over = true;
    if (is_failure(verdict.state) && !entry->is_push_over && !goes_on_alone(*entry)) {
        fail_leg(entry, verdict.sentence);
    }
    forget(entry);
}

void Passages::on_push_end(Place entry) {
    const auto report = entry->push->report();
    const bool is_good = report.value("done", 0U) > 0;
    entry->is_push_over = true;
    entry->pulse->set(std::nullopt);
    entry->digest_due->set(std::nullopt);
    std::string why = report.value("why", "");
    for (const auto& failed : report.value("failed", nlohmann::json::array())) {
        why = why.empty() ? "node " + failed.value("node", "?") + ": " + failed.value("why", "")
                          : why;
    }
    entry->passage->end(
        Passage::Side::onward, is_good ? Passage::End::good : Passage::End::failed, why);
    basics_.log.info("a push of another cluster has ended",
                     {{"node", entry->source},
                      {"nodes", report.value("nodes", 0U)},
                      {"done", report.value("done", 0U)},
                      {"why", why}});
    entry->link->send(encode(TreeMessage{ReportMessage{report_of(report).json}}));
    entry->link->finish();
    const bool has_begun = entry->push->has_begun();
    if (!has_begun) {
        services_.leg_permits.withdraw(entry->message.token);
        entry->leg_due->set(std::nullopt);
        entry->is_leg_over = true;
    }
    forget(entry);
}

/// The other end closes the link when it has the report, or when its push has ended.
void Passages::on_change(Place entry) {
    while (const auto frame = entry->link->link().receive()) {
        const auto message = decode_tree_message(*frame);
        const auto* source = message ? std::get_if<DigestMessage>(&*message) : nullptr;
        if (source != nullptr && !entry->is_push_over) {
            WorkerLook look;
            look.bytes = source->bytes;
            look.digest = source->digest;
            entry->push->compare_present(look);
        }
    }
    if (entry->link->link().state() != Link::State::closed || entry->is_push_over) {
        return;
    }
    entry->pulse->set(std::nullopt);
    if (!goes_on_alone(*entry)) {
        fail_leg(entry, "the daemon of " + entry->source + " closed the connection");
    }
}

/// Nothing that is under way needs it any more. Not within a callback of its parts.
void Passages::forget(Place entry) {
    if (entry->is_leg_over && entry->is_push_over) {
        basics_.loop.after(std::chrono::seconds{5}, [this, entry] { entries_.erase(entry); });
    }
}

}  // namespace stage
