#include "stager/daemon/daemon.h"

#include "stager/config/reload.h"
#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/node_credentials.h"
#include "stager/daemon/base/run_directory.h"
#include "stager/daemon/gateway/cluster_credentials.h"
#include "stager/daemon/planning/time_limits.h"
#include "stager/daemon/reporter.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/run/host_pool.h"
#include "stager/daemon/stage/push_rules.h"
#include "stager/spawn/service_user.h"
#include "transport/base/text.h"
#include "transport/os/installation.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <numeric>

namespace stage {
namespace {

/// The longest time from SIGTERM to the end; peers that are not notified by then see a hang-up.
constexpr Duration kStopMax = std::chrono::seconds{3};

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::make(Config config,
                                             Logger& log,
                                             Spawner spawner,
                                             ReadConfig read_config) {
    TRY(auto loop, Loop::open());
    auto daemon = std::make_unique<Daemon>(
        Token{}, std::move(config), log, std::move(read_config), std::move(loop));
    TRY(daemon->open(std::move(spawner)));
    return daemon;
}

Daemon::Daemon(Token /*token*/, Config config, Logger& log, ReadConfig read_config, Loop loop)
    : config_{std::move(config)},
      log_{log},
      read_config_{std::move(read_config)},
      loop_{std::move(loop)} {
    links_.node_name = config_.node_name;
    links_.cluster_name = config_.cluster_name;
    links_.connect_timeout = config_.connect_timeout;
    links_.accept_timeout = config_.connect_timeout;
    links_.silence_max = silence_max(config_);
    if (config_.slurm_user) {
        links_.trusted_uids.push_back(*config_.slurm_user);
    }
}

Daemon::~Daemon() {
    if (signals_) {
        loop_.forget(signals_.get());
    }
}

Status Daemon::open(Spawner spawner) {
    TRY(auto lock, lock_run_directory(config_.run_dir));
    lock_ = std::move(lock);
    TRY(auto key, node_credentials(config_, loop_));
    node_key_ = std::move(key);
    TRY(auto root, open_stage_root(config_.stage_root, config_.allow_ram_stage_root));
    if (Status way = check_users_way(config_.stage_root); !way) {
        return way;
    }
    if (Status opened = open_children(std::move(spawner), std::move(root)); !opened) {
        return opened;
    }
    make_services();
    make_parts();
    if (Status opened = open_incoming(); !opened) {
        return opened;
    }
    if (Status opened = open_control(); !opened) {
        return opened;
    }
    return watch_signals();
}

/// Opens the parts that every stage needs and that can fail to open.
Status Daemon::open_children(Spawner spawner, UniqueFd stage_root) {
    auto children = Children::open(loop_, std::move(spawner), [this](const Error& error) {
        log_.error("the spawner process has ended, so stagecastd ends; start it again",
                   {{"why", error.sentence()}});
        exit_status_ = 1;
        loop_.stop();
    });
    if (!children) {
        return children.error();
    }
    children_ = std::move(*children);
    TRY(auto verdicts, VerdictStore::open(config_.run_dir + "/jobs"));
    verdicts_.emplace(std::move(verdicts));
    host_directories_.emplace(loop_,
                              *children_,
                              log_,
                              std::move(stage_root),
                              config_.stage_root,
                              HostDirectories::Pauses{});
    hosts_.emplace(loop_,
                   *children_,
                   log_,
                   HostPlace{.program = config_.libexec_dir + "/stagecast-pmix-host",
                             .directories = *host_directories_,
                             .spare = service_user(),
                             .has_munge = !node_key_},
                   config_.spare_hosts);
    return {};
}

void Daemon::make_services() {
    closing_.emplace(loop_, *children_, log_, kRoleClosing);
    basics_.emplace(Basics{.loop = loop_,
                           .log = log_,
                           .config = config_,
                           .counters = counters_,
                           .children = *children_});
    cache_.emplace(*basics_, kRoleCacheCopier);
    cache_->open();
    make_credentials();
    dialer_.emplace(loop_, config_, links_, *credentials_);
    services_.emplace(Services{.basics = *basics_,
                               .hosts = *hosts_,
                               .verdicts = *verdicts_,
                               .links = links_,
                               .dialer = *dialer_,
                               .cache = *cache_,
                               .closers = closers_,
                               .places = places_,
                               .push_permits = push_permits_,
                               .leg_permits = leg_permits_,
                               .ports = ports_,
                               .leg_user = service_user()});
}

void Daemon::make_credentials() {
    if (!node_key_) {
        munge_.emplace(loop_, *children_, log_, kRoleMunge);
        loop_.before_wait([this] { munge_->before_wait(); });
    }
    Credentials& nodes = node_key_ ? static_cast<Credentials&>(*node_key_) : munge_->client();
    credentials_.emplace(nodes, cluster_credentials(config_, log_, loop_));
}

/// The registry of the stages, and what else answers users and other daemons.
void Daemon::make_parts() {
    const Basics& basics = *basics_;
    hold_ports();
    cluster_cache_.emplace(basics, *dialer_, *cache_);
    lease_server_.emplace(basics);
    cache_server_.emplace(basics, *cache_);
    registry_.emplace(*services_);
    services_->on_setup = [this](const SetupMessage& setup, std::unique_ptr<DrivenLink> link) {
        registry_->on_setup(setup, std::move(link));
    };
    remote_statuses_.emplace(basics, services_->addresses, *dialer_);
    metrics_.emplace(basics, places_, [this] { refresh_counters(); });
    preflight_server_.emplace(
        basics,
        PreflightServer::Resources{
            .addresses = services_->addresses, .permits = push_permits_, .closers = closers_});
    ask_server_.emplace(
        basics,
        links_,
        AskServer::Hooks{
            .tell = [this](const StageKey& key) { return registry_->tell(key); },
            .has_ended = [this](std::uint32_t job_id) { return registry_->has_ended(job_id); },
            .announce =
                [this](const StageRequest& request) {
                    registry_->on_request(request, [](const Answer&) {});
                },
        });
    pushes_.emplace(*services_, *registry_);
    passages_.emplace(*services_, *registry_);
    tickets_.emplace(config_, log_);
    exports_.emplace(*services_, *registry_, *tickets_);
}

void Daemon::hold_ports() {
    ports_.hold(config_.data_port_range);
    const auto list = [](const DataPorts::Ports& ports) {
        return joined(ports, ",", [](std::uint16_t port) { return std::to_string(port); });
    };
    if (!ports_.taken().empty()) {
        log_.info(
            "other programs use UDP ports of DataPortRange; stagecastd leaves these ports out",
            {{"ports", list(ports_.taken())}});
    }
    if (!ports_.taken_tcp().empty()) {
        log_.info(
            "other programs use TCP ports of DataPortRange; stages get other ports, as long as "
            "there are some",
            {{"ports", list(ports_.taken_tcp())}});
    }
}

/// Opens the TCP port for other daemons.
Status Daemon::open_incoming() {
    auto incoming = Incoming::open(
        *basics_,
        links_,
        *credentials_,
        {.on_setup =
             [this](const SetupMessage& setup, std::unique_ptr<DrivenLink> link) {
                 registry_->on_setup(setup, std::move(link));
             },
         .on_ask =
             [this](const AskMessage& message, std::unique_ptr<DrivenLink> link) {
                 ask_server_->on_ask(message, std::move(link));
             },
         .on_examine =
             [this](const ExamineMessage& message, std::unique_ptr<DrivenLink> link) {
                 preflight_server_->on_examine(message, std::move(link));
             },
         .on_lease =
             [this](const LeaseMessage& message, std::unique_ptr<DrivenLink> link) {
                 lease_server_->on_lease(message, std::move(link));
             },
         .on_fetch =
             [this](const FetchMessage& message, std::unique_ptr<DrivenLink> link) {
                 cache_server_->on_fetch(message, std::move(link));
             },
         .on_passage =
             [this](const PassageMessage& message, std::unique_ptr<DrivenLink> link) {
                 passages_->on_passage(message, std::move(link));
             },
         .on_import =
             [this](const ImportMessage& message, std::unique_ptr<DrivenLink> link) {
                 exports_->on_import(message, std::move(link));
             },
         .report =
             [this](const ReportQuestion& question) {
                 return report_for(
                            question.uid, question.request, *services_, *registry_, *pushes_)
                     .json;
             }});
    if (!incoming) {
        return incoming.error();
    }
    incoming_ = std::move(*incoming);
    return {};
}

/// Opens the socket for the plugin and the command.
Status Daemon::open_control() {
    auto control = ControlServer::open(
        config_.run_dir + "/stagecastd.sock",
        loop_,
        log_,
        counters_,
        [this](Asker asker, const Request& request) {
            std::visit([&](const auto& one) { take(asker, one); }, request);
        },
        [this](UniqueFd socket) { closing_->close(std::move(socket)); });
    if (!control) {
        return control.error();
    }
    control_ = std::move(*control);
    control_->set_on_gone([this](Asker asker) { pushes_->on_gone(asker); });
    return {};
}

std::function<void(const Answer&)> Daemon::answer_to(Asker asker) {
    return [this, asker](const Answer& said) { control_->answer(asker, said); };
}

void Daemon::take(Asker asker, const PingRequest& /*request*/) {
    control_->answer(asker, Pong{.version = version()});
}

void Daemon::take(Asker asker, const TicketRequest& request) {
    const std::uint32_t uid = control_->uid_of(asker);
    const auto now = static_cast<std::uint64_t>(::time(nullptr));
    control_->answer(asker, tickets_->issue(uid, request, now));
}

void Daemon::take(Asker asker, const PushRequest& request) {
    pushes_->on_request(asker, request, answer_to(asker));
}

/// Asks the job's first node, which knows the state of all nodes of the job.
void Daemon::take(Asker asker, const StatusRequest& request) {
    const auto answer = answer_to(asker);
    const std::uint32_t uid = control_->uid_of(asker);
    const Report here = report_for(uid, request, *services_, *registry_, *pushes_);
    const std::string first = first_node_of(uid, request, *services_, *registry_);
    const bool is_asked =
        !first.empty() &&
        remote_statuses_->ask(
            {.uid = uid, .request = request},
            first,
            [here, answer](const std::optional<std::string>& there) {
                answer(there && mentions_stages(*there) ? Report{*there} : here);
            });
    if (!is_asked) {
        answer(here);
    }
}

Status Daemon::watch_signals() {
    sigset_t mask{};
    ::sigemptyset(&mask);
    ::sigaddset(&mask, SIGTERM);
    ::sigaddset(&mask, SIGINT);
    ::sigaddset(&mask, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    signals_.reset(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) {
        return Error::from_errno(Blame::node, "signalfd");
    }
    return loop_.watch(signals_.get(), EPOLLIN, [this](auto) { on_signal(); });
}

void Daemon::on_signal() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info || stopping_) {
        return;
    }
    if (info.ssi_signo == SIGHUP) {
        reread();
    } else {
        stop();
    }
}

/// A file with any error changes nothing: the configuration in force stays.
void Daemon::reread() {
    const auto read = read_config_();
    if (!read) {
        log_.warn(
            "the configuration is wrong, so the one before stays in force; correct it "
            "and send SIGHUP again",
            {{"why", read.error().sentence()}});
        return;
    }
    Reloaded reloaded = reload(config_, *read);
    config_ = std::move(reloaded.config);
    links_.connect_timeout = config_.connect_timeout;
    links_.accept_timeout = config_.connect_timeout;
    links_.silence_max = silence_max(config_);
    log_.info("the configuration was read again", {{"changed", reloaded.changed}});
    if (!reloaded.at_restart.empty()) {
        log_.warn("changed keys take effect only after: systemctl restart stagecastd",
                  {{"keys", reloaded.at_restart}});
    }
    log_.set_least(config_.log_level);
    hold_ports();
    warn_of_push_roots(config_, log_);
    tickets_->reread();
    metrics_->write();
}

void Daemon::stop() {
    stopping_ = true;
    log_.info("stopping; the running stages fail");
    notify_service_manager("STOPPING=1");
    control_->close_socket();
    loop_.after(kStopMax, [this] { loop_.stop(); });
    // A moment more, so that the last messages are sent.
    registry_->break_off("stagecastd was stopped here", [this] {
        loop_.after(std::chrono::milliseconds{100}, [this] { loop_.stop(); });
    });
}

int Daemon::run() {
    registry_->sweep();
    warn_of_push_roots(config_, log_);
    log_.info("ready",
              {{"port", config_.port},
               {"socket", config_.run_dir + "/stagecastd.sock"},
               {"login", node_key_ ? config_.auth_key_file : "munge"}});
    notify_service_manager("READY=1");
    metrics_->write();
    loop_.run();
    log_counters();
    return exit_status_;
}

/// The listener keeps a count of its own.
void Daemon::refresh_counters() {
    counters_.links_refused = incoming_ ? incoming_->refused_total() : 0;
}

void Daemon::log_counters() {
    refresh_counters();
    std::uint64_t ok = 0, failed = 0;
    for (const EndedStages& one : counters_.ended) {
        ok += one.ok;
        failed += std::accumulate(one.failed.begin(), one.failed.end(), std::uint64_t{0});
    }
    log_.info("stopped",
              {{"stages_begun", counters_.stages_begun},
               {"stages_ok", ok},
               {"stages_failed", failed},
               {"control_refused", counters_.control_refused},
               {"links_refused", counters_.links_refused},
               {"messages_refused", counters_.messages_refused},
               {"hosts_replaced", counters_.hosts_replaced},
               {"workers_killed", counters_.workers_killed},
               {"directories_swept", counters_.directories_swept}});
}

}  // namespace stage
