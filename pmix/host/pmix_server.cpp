#include "pmix/host/pmix_server.h"

#include "pmix/freed.h"
#include "pmix/host/calls.h"
#include "pmix/host/identity.h"
#include "pmix/host/info_list.h"

#include <pmix.h>
#include <pmix_server.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace stage::pmix_host {
namespace {

Error pmix_error(const std::string& doing, pmix_status_t status) {
    return {Blame::node, doing + ": PMIx: " + PMIx_Error_string(status)};
}

/// A list made by PMIx: an array of pointers that ends with a null pointer.
struct FreedList {
    void operator()(char** list) const {
        for (char** entry = list; *entry != nullptr; ++entry) {
            Freed{}(*entry);
        }
        Freed{}(static_cast<void*>(list));
    }
};

pmix_proc_t proc_of(const HostJob& job, pmix_rank_t rank) {
    pmix_proc_t proc{};
    std::memcpy(proc.nspace, job.name_space.data(), job.name_space.size());
    proc.rank = rank;
    return proc;
}

/// The PMIx process id of this node's worker.
pmix_proc_t proc_of(const HostJob& job) {
    return proc_of(job, job.rank.value());
}

/// Sets the environment variables that PMIx reads and removes all that this process inherited.
void set_environment(const ServerSettings& settings) {
    // No other thread runs yet.
    ::clearenv();  // NOLINT(concurrency-mt-unsafe)
    const auto set = [](const char* name, const std::string& value) {
        const int done = ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
        invariant(done == 0, "the environment takes a few names");
    };
    set("PATH", "/usr/bin:/bin");
    // PMIx looks for parameters and plugins below HOME.
    set("HOME", settings.directory);
    set("TMPDIR", settings.directory);
    set("PMIX_MCA_gds", "hash");
    set("PMIX_MCA_psec", settings.security);
}

void on_client_registered(pmix_status_t status, void* /*data*/) {
    if (Switchboard* board = Switchboard::connected(); board != nullptr) {
        const bool done = status == PMIX_SUCCESS;
        board->post(Registered{done ? Status{} : pmix_error("registering the worker", status)});
    }
}

/// Runs in the progress thread, directly after the job is registered.
void on_job_registered(pmix_status_t status, void* data) {
    const auto* job = static_cast<const HostJob*>(data);
    if (status == PMIX_SUCCESS) {
        const pmix_proc_t proc = proc_of(*job);
        status = PMIx_server_register_client(
            &proc, job->uid, job->gid, nullptr, on_client_registered, nullptr);
    }
    if (status != PMIX_SUCCESS) {
        on_client_registered(status, nullptr);
    }
}

void on_pulse(pmix_status_t /*status*/, void* /*data*/) {
    if (Switchboard* board = Switchboard::connected(); board != nullptr) {
        board->post(Pulse{});
    }
}

std::string joined_nodes(const HostJob& job) {
    std::string text;
    for (const std::string& node : job.nodes) {
        text += text.empty() ? node : ',' + node;
    }
    return text;
}

std::string joined_ranks(std::size_t count) {
    std::string text = "0";
    for (std::size_t rank = 1; rank < count; ++rank) {
        text += ';' + std::to_string(rank);
    }
    return text;
}

}  // namespace

/// The job's description for PMIx: one worker on each node, rank by rank.
struct PmixServer::JobInfo {
    explicit JobInfo(const HostJob& given) : job{given} {}

    HostJob job;
    InfoList infos{12};

    Status fill() {
        const auto size = static_cast<std::uint32_t>(job.nodes.size());
        char* raw = nullptr;
        pmix_status_t status = PMIx_generate_regex(joined_nodes(job).c_str(), &raw);
        const MallocPointer<char> nodes{std::exchange(raw, nullptr)};
        if (status == PMIX_SUCCESS) {
            status = PMIx_generate_ppn(joined_ranks(size).c_str(), &raw);
        }
        const MallocPointer<char> ranks{raw};
        if (status != PMIX_SUCCESS) {
            return pmix_error("packing the list of nodes", status);
        }
        infos.add_regex(PMIX_NODE_MAP, nodes.get()).add_regex(PMIX_PROC_MAP, ranks.get());
        infos.add(PMIX_JOB_SIZE, size).add(PMIX_UNIV_SIZE, size).add(PMIX_MAX_PROCS, size);
        infos.add(PMIX_LOCAL_SIZE, 1U).add(PMIX_NODE_SIZE, 1U);
        infos.add(PMIX_LOCAL_PEERS, std::to_string(job.rank.value()));
        infos.add_rank(PMIX_LOCALLDR, job.rank.value());
        return {};
    }
};

PmixServer::PmixServer(Key /*key*/, const ServerSettings& settings) : settings_{settings} {
}

PmixServer::~PmixServer() = default;

Result<std::unique_ptr<PmixServer>> PmixServer::start(const ServerSettings& settings,
                                                      Mailbox& mailbox) {
    set_environment(settings);
    // The library calls these functions until the process exits, so they are never freed.
    static Switchboard board{mailbox};
    Switchboard::connect(&board);
    pmix_server_module_t module = Switchboard::module();
    InfoList infos{3};
    infos.add(PMIX_SERVER_TMPDIR, settings.directory);
    infos.add(PMIX_SYSTEM_TMPDIR, settings.directory);
    infos.add_flag(PMIX_SERVER_SHARE_TOPOLOGY, false);
    const pmix_status_t status = PMIx_server_init(&module, infos.data(), infos.size());
    if (status != PMIX_SUCCESS) {
        return pmix_error("starting the PMIx server", status);
    }
    return std::make_unique<PmixServer>(Key{}, settings);
}

Status PmixServer::adopt(const HostJob& job) {
    if (Status became = become(job); !became) {
        return became;
    }
    job_info_ = std::make_unique<JobInfo>(job);
    if (Status filled = job_info_->fill(); !filled) {
        return filled;
    }
    const pmix_proc_t proc = proc_of(job);
    const pmix_status_t status = PMIx_server_register_nspace(proc.nspace,
                                                             1,
                                                             job_info_->infos.data(),
                                                             job_info_->infos.size(),
                                                             on_job_registered,
                                                             &job_info_->job);
    if (status != PMIX_SUCCESS) {
        return pmix_error("registering the job", status);
    }
    return {};
}

Result<std::vector<std::string>> PmixServer::environment(const HostJob& job) {
    const pmix_proc_t proc = proc_of(job);
    char** raw = nullptr;
    const pmix_status_t status = PMIx_server_setup_fork(&proc, &raw);
    const std::unique_ptr<char*, FreedList> list{raw};
    if (status != PMIX_SUCCESS) {
        return pmix_error("asking for the worker's environment", status);
    }
    std::vector<std::string> variables;
    for (char** entry = raw; entry != nullptr && *entry != nullptr; ++entry) {
        // The spare used this machine's host name, which may differ from Slurm's name of the
        // node.
        if (std::strncmp(*entry, "PMIX_HOSTNAME=", 14) != 0) {
            variables.emplace_back(*entry);
        }
    }
    variables.push_back("PMIX_HOSTNAME=" + job.nodes[job.rank.index()]);
    // Without HOME the client crashes; with the user's HOME it would read the user's files and
    // plugins.
    variables.push_back("HOME=" + settings_.directory);
    variables.emplace_back("PATH=/usr/bin:/bin");
    if (settings_.gate != nullptr) {
        TRY(lead_through_gate(variables, job.uid));
    }
    return variables;
}

/// Replaces the library's port by the gate's port in the worker's variables.
Status PmixServer::lead_through_gate(std::vector<std::string>& variables, uid_t user) const {
    constexpr std::string_view kPlace = ";tcp4://127.0.0.1:";
    std::optional<std::uint16_t> port;
    for (std::string& variable : variables) {
        const std::size_t at = variable.find(kPlace);
        if (!variable.starts_with("PMIX_SERVER_URI") || at == std::string::npos) {
            continue;
        }
        const std::size_t digits = at + kPlace.size();
        std::uint16_t number = 0;
        const char* const end = variable.data() + variable.size();
        const auto parsed = std::from_chars(variable.data() + digits, end, number);
        if (parsed.ec != std::errc{} || parsed.ptr != end || port.value_or(number) != number) {
            return Error{Blame::node, "PMIx names its server in an unknown way: " + variable};
        }
        port = number;
        variable.replace(digits, std::string::npos, std::to_string(settings_.gate->port()));
    }
    if (!port) {
        return Error{Blame::node, "PMIx does not name its server on loopback"};
    }
    settings_.gate->lead_to(*port, user);
    return {};
}

void PmixServer::complete_fence(Call call, std::vector<std::byte> data) {
    const std::optional<Callback> callback = Switchboard::connected()->take(call);
    const auto* fence = callback ? std::get_if<FenceCallback>(&*callback) : nullptr;
    if (fence == nullptr) {
        return;
    }
    auto owned = std::make_unique<std::vector<std::byte>>(std::move(data));
    const auto* bytes = reinterpret_cast<const char*>(owned->data());
    const std::size_t size = owned->size();
    const auto release = [](void* kept) {
        const std::unique_ptr<std::vector<std::byte>> ended{
            static_cast<std::vector<std::byte>*>(kept)};
    };
    fence->function(PMIX_SUCCESS, bytes, size, fence->data, release, owned.release());
}

void PmixServer::complete_group(Call call, std::uint64_t context_id) {
    const std::optional<Callback> callback = Switchboard::connected()->take(call);
    const auto* group = callback ? std::get_if<GroupCallback>(&*callback) : nullptr;
    if (group == nullptr) {
        return;
    }
    auto owned = std::make_unique<InfoList>(2);
    owned->add_size(PMIX_GROUP_CONTEXT_ID, context_id);
    // A client of PMIx 5 fails if its server reports no members.
    owned->add_process(PMIX_GROUP_MEMBERSHIP, proc_of(job_info_->job, PMIX_RANK_WILDCARD));
    pmix_info_t* const infos = owned->data();
    const std::size_t count = owned->size();
    const auto release = [](void* kept) {
        const std::unique_ptr<InfoList> ended{static_cast<InfoList*>(kept)};
    };
    group->function(PMIX_SUCCESS, infos, count, group->data, release, owned.release());
}

void PmixServer::refuse(Call call) {
    const std::optional<Callback> callback = Switchboard::connected()->take(call);
    if (!callback) {
        return;
    }
    if (const auto* fence = std::get_if<FenceCallback>(&*callback)) {
        fence->function(PMIX_ERR_LOST_CONNECTION, nullptr, 0, fence->data, nullptr, nullptr);
    } else if (const auto* group = std::get_if<GroupCallback>(&*callback)) {
        group->function(PMIX_ERR_LOST_CONNECTION, nullptr, 0, group->data, nullptr, nullptr);
    }
}

void PmixServer::ask_pulse() {
    // Deregistering a handler that does not exist has no effect, but its callback runs in the
    // progress thread.
    constexpr std::size_t kNoHandler = SIZE_MAX - 1;
    static_cast<void>(PMIx_Deregister_event_handler(kNoHandler, on_pulse, nullptr));
}

}  // namespace stage::pmix_host
