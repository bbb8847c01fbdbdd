#include "stager/slurm/slurm_nodes.h"

#include "stager/cache/lease_server_choice.h"
#include "stager/slurm/name_lookup.h"
#include "stager/slurm/slurm_releases.h"
#include "transport/base/text.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <netdb.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>

namespace stage {
namespace {

constexpr std::size_t kNameMax = 255;
/// For all names of one question, after slurmctld's own time.
constexpr Duration kLookUpMax = std::chrono::seconds{5};

struct NodesFree {
    void operator()(node_info_msg_t* nodes) const { ::slurm_free_node_info_msg(nodes); }
};
struct MallocFree {
    void operator()(char* text) const { std::free(text); }  // NOLINT: libslurm's malloc
};

std::string text_or_empty(const char* text) {
    return text == nullptr ? std::string{} : text;
}

/// Numeric; empty if slurmctld has no address itself.
std::string text_of(const sockaddr_storage& address) {
    std::array<char, NI_MAXHOST> text{};
    const bool is_known = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address),  // NOLINT
                                        sizeof address,
                                        text.data(),
                                        text.size(),
                                        nullptr,
                                        0,
                                        NI_NUMERICHOST) == 0;
    return is_known ? text.data() : "";
}

/// Whether the node is down or powered off, so that it will hardly answer.
bool is_away(const node_info_t& node) {
    const std::uint32_t base = node.node_state & NODE_STATE_BASE;
    return base == NODE_STATE_DOWN || base == NODE_STATE_FUTURE ||
           (node.node_state & (NODE_STATE_NO_RESPOND | NODE_STATE_POWERED_DOWN)) != 0;
}

using Addresses = std::unordered_map<std::string, std::string>;

/// Nodes with their NodeAddr, or only those that are up; `only`: this one alone. The table of
/// all nodes is long: it is loaded only if Slurm has no shorter answer.
Result<Addresses> load_nodes(bool may_be_away, const std::string& only = {}) {
    node_info_msg_t* loaded = nullptr;
    std::string name = only;
    const int done = only.empty() ? ::slurm_load_node(0, &loaded, SHOW_ALL)
                                  : ::slurm_load_node_single(&loaded, name.data(), SHOW_ALL);
    const int cause = errno;
    const std::unique_ptr<node_info_msg_t, NodesFree> nodes{loaded};
    if (done != SLURM_SUCCESS && cause == ESLURM_INVALID_NODE_NAME) {
        return Addresses{};
    }
    if (done != SLURM_SUCCESS) {
        errno = cause;
        return no_slurm_answer("the addresses of nodes");
    }
    Addresses addresses;
    for (std::uint32_t i = 0; i < nodes->record_count; ++i) {
        const node_info_t& node = nodes->node_array[i];
        if (may_be_away || !is_away(node)) {
            addresses[text_or_empty(node.name)] = text_or_empty(node.node_addr);
        }
    }
    return addresses;
}

/// The addresses of `names`, by one call to Slurm.
Result<Addresses> load_addresses(const std::vector<std::string>& names) {
    if (names.size() == 1) {
        return load_nodes(true, names.front());
    }
    if constexpr (kHasNodeAddresses) {
        Addresses addresses;
        const int done = each_node_address(
            joined(names, ","), [&](const char* name, const sockaddr_storage& address) {
                addresses[name] = text_of(address);
            });
        if (done != SLURM_SUCCESS && errno != SLURM_NO_CHANGE_IN_DATA) {
            return no_slurm_answer("the addresses of nodes");
        }
        return addresses;
    }
    return load_nodes(true);
}

/// A node without an address gets an empty one if `may_miss`.
Result<SlurmAnswer> with_addresses(const std::vector<std::string>& names,
                                   const Addresses& addresses,
                                   bool may_miss) {
    std::vector<NodeName> given;
    for (const std::string& name : names) {
        const auto found = addresses.find(name);
        const bool is_given = found != addresses.end() && !found->second.empty();
        given.push_back({.node = name, .address = is_given ? found->second : name});
    }
    auto looked_up = look_up_all(std::move(given), kLookUpMax);
    std::vector<SlurmNode> resolved;
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto& address = looked_up[i];
        if (!address && !may_miss) {
            return std::move(address).error();
        }
        resolved.push_back({.name = names[i], .address = address ? std::move(*address) : ""});
    }
    return SlurmAnswer{std::move(resolved)};
}

}  // namespace

std::vector<std::string> items_of(const char* list) {
    std::vector<std::string> items;
    std::istringstream all{text_or_empty(list)};
    for (std::string item; std::getline(all, item, ',');) {
        items.push_back(item);
    }
    return items;
}

Result<std::vector<NodeFacts>> load_node_facts() {
    node_info_msg_t* loaded = nullptr;
    const int done = ::slurm_load_node(0, &loaded, SHOW_ALL);
    const std::unique_ptr<node_info_msg_t, NodesFree> nodes{loaded};
    partition_info_msg_t* partitions = nullptr;
    if (done != SLURM_SUCCESS ||
        ::slurm_load_partitions(0, &partitions, SHOW_ALL) != SLURM_SUCCESS) {
        return no_slurm_answer("the nodes and partitions");
    }
    ::slurm_populate_node_partitions(nodes.get(), partitions);
    std::vector<NodeFacts> facts;
    for (std::uint32_t i = 0; i < nodes->record_count; ++i) {
        const node_info_t& node = nodes->node_array[i];
        constexpr std::uint32_t kUnfit =
            NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_RES | NODE_STATE_MAINT;
        facts.push_back({.name = text_or_empty(node.name),
                         .partitions = items_of(node.partitions),
                         .cpus = node.cpus,
                         .memory_mb = node.real_memory,
                         .features = text_or_empty(node.features),
                         .gres = text_or_empty(node.gres),
                         .is_up = !is_away(node) && (node.node_state & kUnfit) == 0});
    }
    ::slurm_free_partition_info_msg(partitions);
    return facts;
}

Error no_slurm_answer(std::string_view asked) {
    return {Blame::node,
            "slurmctld did not return " + std::string{asked} + " (" + ::slurm_strerror(errno) +
                ")"};
}

Result<std::vector<std::string>> expand_nodes(const std::string& list) {
    const std::unique_ptr<hostlist, HostlistFree> hosts{::slurm_hostlist_create(list.c_str())};
    if (hosts == nullptr) {
        return Error{Blame::internal, "malformed list of nodes: " + list.substr(0, kNameMax)};
    }
    const int count = ::slurm_hostlist_count(hosts.get());
    if (count < 1 || static_cast<std::size_t>(count) > kNodesMax) {
        return Error{Blame::internal, "a list of " + std::to_string(count) + " nodes"};
    }
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        const std::unique_ptr<char, MallocFree> name{::slurm_hostlist_shift(hosts.get())};
        if (name == nullptr) {
            return Error{Blame::internal, "a list of nodes ends early"};
        }
        names.emplace_back(name.get());
    }
    return names;
}

Result<SlurmAnswer> resolve_nodes(const ResolveQuestion& question) {
    TRY(const auto names, expand_nodes(question.node_list));
    const auto addresses = load_addresses(names);
    return addresses ? with_addresses(names, *addresses, question.may_miss)
                     : Result<SlurmAnswer>{addresses.error()};
}

Result<SlurmAnswer> find_lease_servers() {
    TRY(const auto addresses, load_nodes(false));
    std::vector<std::string> names;
    for (const auto& [name, address] : addresses) {
        names.push_back(name);
    }
    return with_addresses(draw_lease_servers(std::move(names)), addresses, true);
}

}  // namespace stage
