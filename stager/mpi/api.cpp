// The functions of stagecast.h that need no MPI, and the call behind those that do.
#include "stager/mpi/collectives.h"
#include "stager/mpi/file_call.h"
#include "stager/mpi/leaders.h"
#include "transport/base/codec.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

struct stagecast_result {
    std::vector<stage::NodeReport> nodes;  ///< By leader.
    std::vector<int> node_of;              ///< By rank.
};

namespace stage {
namespace {

thread_local std::string last_error;  // NOLINT: as errno.

Result<std::string> absolute(const char* path, const char* what) {
    if (path == nullptr || *path == '\0') {
        return Error{Blame::user, std::string{"the "} + what + " has no name"};
    }
    if (*path == '/') {
        return std::string{path};
    }
    std::string directory(PATH_MAX, '\0');
    if (::getcwd(directory.data(), directory.size()) == nullptr) {
        return Error::from_errno(Blame::user, "the working directory");
    }
    directory.resize(std::strlen(directory.c_str()));
    return (directory == "/" ? "" : directory) + '/' + path;
}

Result<Transport> transport_named(const char* name) {
    if (name == nullptr) {
        return Transport::automatic;
    }
    if (const auto transport = read_choice<Transport>(name)) {
        return *transport;
    }
    return Error{Blame::user,
                 std::string{"transport "} + name + ": write auto, udp, tcp or verbs"};
}

Result<CallExisting> existing_named(int flag) {
    if (flag < 0 || flag > STAGECAST_OVERWRITE) {
        return Error{Blame::user,
                     "flag " + std::to_string(flag) +
                         ": write 1 (leave), 2 (overwrite if newer) or 3 (overwrite)"};
    }
    return flag == STAGECAST_OVERWRITE ? CallExisting::overwrite
           : flag == STAGECAST_NEWER   ? CallExisting::newer
                                       : CallExisting::leave;
}

std::string text_or(const char* text, const char* variable) {
    const char* instead = ::secure_getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return text != nullptr ? text : instead != nullptr ? instead : "";
}

/// The root's order.
Result<CallOrder> order_of(const char* src, const char* dst, const stagecast_options& options) {
    Result<std::string> source = absolute(src, "source");
    Result<std::string> destination =
        dst == nullptr ? Result<std::string>{std::string{}} : absolute(dst, "destination");
    const Result<CallExisting> existing = existing_named(options.flag);
    const Result<Transport> transport = transport_named(options.transport);
    if (!source || !destination || !existing || !transport) {
        return !source        ? std::move(source).error()
               : !destination ? std::move(destination).error()
               : !existing    ? existing.error()
                              : transport.error();
    }
    CallOrder order;
    order.source = *std::move(source);
    order.destination = *std::move(destination);
    if (order.source.size() >= PATH_MAX || order.destination.size() >= PATH_MAX) {
        return Error{Blame::user, "a path is too long"};
    }
    order.existing = *existing;
    order.transport = *transport;
    order.is_on_each_node = options.on_each_node != 0;
    order.is_durable = options.durable != 0;
    order.interfaces = text_or(options.interfaces, "STAGECAST_INTERFACE");
    if (order.interfaces.size() >= PATH_MAX) {
        return Error{Blame::user, "the list of interfaces is too long"};
    }
    order.rate_max = options.rate_max;
    order.timeout = std::chrono::seconds{options.timeout_s};
    order.stall_timeout = std::chrono::seconds{options.stall_s};
    return order;
}

/// A program that was built with an older header has a shorter structure.
stagecast_options complete(const stagecast_options* given) {
    stagecast_options options STAGECAST_OPTIONS_INIT;
    if (given != nullptr) {
        std::memcpy(&options, given, std::min(given->size, sizeof options));
    }
    return options;
}

CallProgressFunction progress_of(const stagecast_options& options) {
    if (options.progress == nullptr) {
        return {};
    }
    return [call = options.progress, data = options.progress_data](
               std::uint64_t done, std::uint64_t total) { call(done, total, data); };
}

/// The reports of all nodes, on every rank.
Result<std::vector<NodeReport>> reports_of(Leaders& leaders,
                                           const char* src,
                                           const char* dst,
                                           const stagecast_options& options) {
    std::vector<std::byte> bytes;
    if (leaders.is_leader()) {
        FileCall call{leaders, progress_of(options)};
        TRY(const auto reports,
            call.run(leaders.is_root() ? order_of(src, dst, options)
                                       : Result<CallOrder>{CallOrder{}}));
        bytes = encode_reports(reports);
    }
    TRY(leaders.share(bytes));
    auto reports = decode_reports(bytes);
    return reports ? Result<std::vector<NodeReport>>{*std::move(reports)}
                   : Error{Blame::internal, "the reports of the nodes make no sense"};
}

Result<stagecast_result> run(const stagecast_collectives& table,
                             const char* src,
                             const char* dst,
                             const stagecast_options& options) {
    Leaders leaders{table};
    stagecast_result result;
    TRY(auto reports, reports_of(leaders, src, dst, options));
    result.nodes = std::move(reports);
    // Every rank has the number of its node: that of its leader.
    ByteWriter number;
    number.u32(static_cast<std::uint32_t>(std::max(table.leader, 0)));
    std::vector<std::byte> own = number.take();
    TRY(leaders.share(own));
    TRY(auto nodes, leaders.gather_number(static_cast<int>(ByteReader{own}.u32())));
    result.node_of = std::move(nodes);
    return result;
}

const NodeReport* node_of(const stagecast_result* result, int rank) {
    if (result == nullptr || rank < 0 ||
        static_cast<std::size_t>(rank) >= result->node_of.size()) {
        return nullptr;
    }
    const auto node = static_cast<std::size_t>(result->node_of[static_cast<std::size_t>(rank)]);
    return node < result->nodes.size() ? &result->nodes[node] : nullptr;
}

}  // namespace
}  // namespace stage

extern "C" {

int stagecast_run(const stagecast_collectives* collectives,
                  const char* src,
                  const char* dst,
                  const stagecast_options* options,
                  stagecast_result** result) {
    try {
        stage::Result<stagecast_result> done =
            stage::run(*collectives, src, dst, stage::complete(options));
        if (!done) {
            return stagecast_refuse(done.error().sentence().c_str(), result);
        }
        stage::last_error = stage::failure_text(done->nodes);
        if (result != nullptr) {
            *result = std::make_unique<stagecast_result>(*std::move(done)).release();
        }
        return stage::last_error.empty() ? 0 : 1;
    } catch (const std::exception& failed) {  // Memory is exhausted.
        return stagecast_refuse(failed.what(), result);
    }
}

int stagecast_refuse(const char* why, stagecast_result** result) {
    stage::last_error = why;
    if (result != nullptr) {
        *result = nullptr;
    }
    return 1;
}

const char* stagecast_error() {
    return stage::last_error.c_str();
}

int stagecast_result_status(const stagecast_result* result, int rank) {
    const stage::NodeReport* node = stage::node_of(result, rank);
    return node == nullptr ? static_cast<int>(STAGECAST_FAILED) : node->status;
}

const char* stagecast_result_error(const stagecast_result* result, int rank) {
    const stage::NodeReport* node = stage::node_of(result, rank);
    return node == nullptr ? "no such rank" : node->why.c_str();
}

uint64_t stagecast_result_bytes(const stagecast_result* result) {
    return result == nullptr || result->nodes.empty() ? 0 : result->nodes.front().bytes;
}

int stagecast_result_written(const stagecast_result* result) {
    return result == nullptr
               ? 0
               : static_cast<int>(std::ranges::count(
                     result->nodes, STAGECAST_WRITTEN, &stage::NodeReport::status));
}

void stagecast_result_free(stagecast_result* result) {
    const std::unique_ptr<stagecast_result> owner{result};
}
}
