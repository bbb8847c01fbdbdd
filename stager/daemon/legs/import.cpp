#include "stager/daemon/legs/import.h"

#include "stager/daemon/base/loop.h"
#include "stager/daemon/legs/leg_plan.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/link/link.h"
#include "stager/spec/amount.h"
#include "stager/spec/spec_list.h"
#include "transport/base/log.h"
#include "transport/base/random_value.h"

#include <fcntl.h>

#include <utility>

namespace stage {
namespace {

/// So the link times out first, and its error says more.
constexpr Duration kLinkFirst = std::chrono::seconds{3};
/// Before another gateway is asked.
constexpr Duration kPause = std::chrono::milliseconds{500};

/// The job's worker has no business in the file but to read it.
Result<UniqueFd> reopened_to_read(const UniqueFd& file) {
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    UniqueFd readable{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    return readable ? Result<UniqueFd>{std::move(readable)}
                    : Error::from_errno(Blame::node, "opening the file of a passage");
}

}  // namespace

Result<std::string> specs_of_leg(const std::string& specs) {
    TRY(const auto asked, parse_serialized(specs));
    const StageOptions given = options_in(specs);
    std::vector<StageSpec> alone;
    for (const StageSpec& spec : asked) {
        StageSpec file{.source = spec.source,
                       .destination = "f" + std::to_string(alone.size()),
                       .is_optional = spec.is_optional,
                       .is_unpacked = spec.is_unpacked,
                       .is_following = spec.is_following,
                       .skips_devices = spec.skips_devices,
                       .excludes = spec.excludes};
        if (spec.is_list || spec.is_with_libraries || !is_of_leg(file)) {
            return Error{Blame::user,
                         printable(spec.source) + ": can't come from another cluster"}
                .remedy("name files and directories there, without libs, @ and %");
        }
        alone.push_back(std::move(file));
    }
    return serialize(alone, {.cluster = given.cluster, .ticket = given.ticket});
}

Import::Import(Services& services, const StageRequest& request, Hooks hooks)
    : services_{services},
      basics_{services.basics},
      request_{request},
      hooks_{std::move(hooks)},
      cluster_{options_in(request.specs).cluster},
      gateways_{routes_to(basics_.config, cluster_)},
      silence_{basics_.loop,
               [this] { try_next(Blame::node, "its stagecastd fell silent; see its log"); }},
      again_{basics_.loop, [this] { ask_next(); }} {
}

Import::~Import() {
    cancel("the job has ended");
}

void Import::begin() {
    const Config& config = basics_.config;
    if (config.cluster_name.empty() || gateways_.empty()) {
        fail({Blame::user,
              config.cluster_name.empty()
                  ? "files of other clusters can't be staged here: ClusterName in this node's "
                    "stagecast.conf is empty"
                  : "Routes in this node's stagecast.conf names no gateway of cluster " +
                        printable(cluster_)});
        return;
    }
    auto specs = specs_of_leg(request_.specs);
    if (!specs) {
        fail(specs.error());
        return;
    }
    leg_specs_ = *std::move(specs);
    ask_next();
}

// ---- the gateway

/// Two legs must not write the same passage.
void Import::ask_next() {
    if (leg_ && !leg_->is_gone()) {
        again_.set(basics_.loop.now() + kPause);
        return;
    }
    const NamedText& route = gateways_[asked_++ % gateways_.size()];
    gateway_ = route.name;
    token_ = random_value<PushToken>();
    has_consented_ = false;
    auto link = services_.dialer.dial(route.name, route.value, [this] { on_change(); });
    if (!link) {
        try_next(link.error().blame(), link.error().sentence());
        return;
    }
    link_ = std::move(*link);
    link_->send(encode(TreeMessage{
        ImportMessage{.specs = leg_specs_, .token = token_, .for_uid = request_.uid}}));
    silence_.set(basics_.loop.now() + basics_.config.connect_timeout + kLinkFirst);
}

void Import::on_change() {
    while (link_) {
        const auto frame = link_->link().receive();
        if (!frame) {
            break;
        }
        silence_.set(basics_.loop.now() + basics_.config.connect_timeout + kLinkFirst);
        auto message = decode_tree_message(*frame);
        if (!message) {
            try_next(Blame::node, message.error().sentence());
            return;
        }
        on_message(*std::move(message));
    }
    if (link_ && link_->link().state() == Link::State::closed) {
        const auto& error = link_->link().error();
        try_next(
            Blame::node,
            error ? error->sentence() : "its stagecastd closed the connection; see its log");
    }
}

void Import::on_message(TreeMessage message) {
    if (const auto* answer = std::get_if<ExportMessage>(&message)) {
        on_export(*answer);
    } else if (const auto* setup = std::get_if<SetupMessage>(&message)) {
        services_.on_setup(*setup, std::move(link_));
        if (!is_leg_open_ && !is_over_) {
            try_next(Blame::node,
                     "this node refused what it sent; have both clusters one release?");
        }
    }
}

/// What the gateway has is known: this node makes room for it, and lets the leg begin.
void Import::on_export(const ExportMessage& answer) {
    if (!answer.sentence.empty()) {
        try_next(answer.blame, printable(answer.sentence));
        return;
    }
    if (std::exchange(has_consented_, true)) {
        try_next(Blame::node, "it answered twice");
        return;
    }
    if (object_ && *object_ != answer) {
        fail(
            Error{Blame::user,
                  "the files have changed in cluster " + cluster_ + " since they began to come"}
                .remedy("submit again"));
        return;
    }
    if (const Status made = object_ ? Status{} : make_room(answer); !made) {
        fail(made.error());
        return;
    }
    object_ = answer;
    services_.leg_permits.grant(
        {.token = token_,
         .source = gateway_,
         .specs = leg_specs_,
         .passage = {.file = file_,
                     .purpose = WorkerPurpose::take_in_alone,
                     .user = services_.leg_user},
         .on_begin =
             [this, alive = std::weak_ptr<bool>{alive_}](BegunLeg leg) {
                 if (!alive.expired()) {
                     on_begin(std::move(leg));
                 }
             },
         .on_end =
             [this, alive = std::weak_ptr<bool>{alive_}](const Verdict& verdict) {
                 if (!alive.expired()) {
                     on_leg_end(verdict);
                 }
             }});
    link_->send(encode(TreeMessage{ExaminedMessage{}}));
}

Status Import::make_room(const ExportMessage& object) {
    const std::uint64_t limit = basics_.config.max_bytes;
    if (limit > 0 && object.object_bytes > limit) {
        return Error{Blame::user,
                     "the files have " + amount_text(object.object_bytes) +
                         ", this site allows " + amount_text(limit)}
            .remedy("stage less, or ask the administrator (MaxBytes)");
    }
    TRY(auto file,
        Passage::make(basics_.config.stage_root, object.blocks, object.object_bytes));
    TRY(auto passage, Passage::open(UniqueFd{::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)}));
    passage_ = std::move(passage);
    file_ = std::make_shared<const UniqueFd>(std::move(file));
    return {};
}

/// Whether each gateway was asked without a new block.
bool Import::is_in_vain() {
    const std::uint32_t here = passage_ ? passage_->take_up().blocks : 0;
    in_vain_ = here > blocks_ ? 0 : in_vain_ + 1;
    blocks_ = here;
    return in_vain_ >= gateways_.size();
}

void Import::try_next(Blame blame, std::string why) {
    drop_link();
    services_.leg_permits.withdraw(token_);
    why = "cluster " + cluster_ + ", gateway " + gateway_ + ": " + why;
    if (blame == Blame::user) {
        users_error_ = Error{blame, why};
    }
    if (is_over_ || is_in_vain()) {
        fail(users_error_.value_or(Error{blame, std::move(why)}));
        return;
    }
    basics_.log.warn("a gateway does not send a job's files",
                     {{"job", request_.key.job_id}, {"why", why}});
    again_.set(basics_.loop.now() + kPause);
}

void Import::drop_link() {
    silence_.set(std::nullopt);
    if (link_) {
        // Destroyed later, as this may be its own callback.
        link_->set_on_change([] {});
        basics_.loop.defer([gone = std::shared_ptr<DrivenLink>{std::move(link_)}] {});
    }
}

// ---- the leg

void Import::on_begin(BegunLeg leg) {
    leg_ = std::move(leg);
    is_leg_open_ = true;
    drop_link();
    if (is_ready_) {
        return;
    }
    auto readable = reopened_to_read(*file_);
    if (!readable) {
        fail(readable.error());
        return;
    }
    is_ready_ = true;
    basics_.log.info("a job's files come from another cluster",
                     {{"job", request_.key.job_id}, {"gateway", gateway_}});
    RunPassage part{.file = std::make_shared<const UniqueFd>(*std::move(readable)),
                    .purpose = WorkerPurpose::bring_in,
                    .user = {request_.uid, request_.gid, {}}};
    // (Also if the leg has failed by then: the worker has the reason.)
    basics_.loop.defer(
        [this, alive = std::weak_ptr<bool>{alive_}, part = std::move(part)]() mutable {
            if (!alive.expired()) {
                hooks_.on_ready(std::move(part));
            }
        });
}

void Import::on_leg_end(const Verdict& verdict) {
    is_leg_open_ = false;
    if (is_failure(verdict.state) && !is_over_ && !has_all()) {
        try_next(verdict.blame, printable(verdict.sentence));
    }
}

bool Import::has_all() const {
    return passage_ && passage_->ended(Passage::Side::inward).how == Passage::End::good;
}

// ---- the end

void Import::cancel(const std::string& why) {
    if (std::exchange(is_over_, true)) {
        return;
    }
    drop_link();
    again_.set(std::nullopt);
    services_.leg_permits.withdraw(token_);
    if (is_leg_open_ && !has_all()) {
        leg_->break_off(why);
    }
}

/// What the job's worker still lacks then will not come: it says so in these words.
void Import::fail(const Error& error) {
    cancel(error.sentence());
    error_ = error;
    if (is_ready_) {
        passage_->end(
            Passage::Side::inward, Passage::End::failed, error.sentence(), error.blame());
        return;
    }
    basics_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            hooks_.on_fail();
        }
    });
}

}  // namespace stage
