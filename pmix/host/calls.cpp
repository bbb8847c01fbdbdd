#include "pmix/host/calls.h"

#include "pmix/freed.h"
#include "pmix/host_message.h"

#include <atomic>

namespace stage::pmix_host {
namespace {

/// Static, because the C callbacks carry no user pointer.
std::atomic<Switchboard*>& slot() {
    static std::atomic<Switchboard*> board{nullptr};
    return board;
}

// The upcalls' signatures are PMIx'. NOLINTBEGIN(readability-function-size)
pmix_status_t on_connected(const pmix_proc_t* /*who*/,
                           void* /*server_object*/,
                           pmix_info_t* /*info*/,
                           size_t /*count*/,
                           pmix_op_cbfunc_t /*done*/,
                           void* /*data*/) {
    if (Switchboard* board = Switchboard::connected(); board != nullptr) {
        board->post(ClientConnected{});
    }
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* /*who*/,
                           void* /*server_object*/,
                           pmix_op_cbfunc_t /*done*/,
                           void* /*data*/) {
    if (Switchboard* board = Switchboard::connected(); board != nullptr) {
        board->post(ClientFinalized{});
    }
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_fence(const pmix_proc_t* /*procs*/,
                       size_t /*proc_count*/,
                       const pmix_info_t* /*info*/,
                       size_t /*info_count*/,
                       char* data,
                       size_t size,
                       pmix_modex_cbfunc_t done,
                       void* done_data) {
    const MallocPointer<char> owned{data};
    std::vector<std::byte> part;
    const bool fits = size <= kMaxFencePartBytes;
    if (fits && data != nullptr) {
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        part.assign(bytes, bytes + size);
    }
    Switchboard* board = Switchboard::connected();
    const FenceCallback callback{.function = done, .data = done_data};
    if (!fits || board == nullptr || !board->ask_fence(callback, std::move(part))) {
        done(PMIX_ERR_OUT_OF_RESOURCE, nullptr, 0, done_data, nullptr, nullptr);
    }
    return PMIX_SUCCESS;
}

pmix_status_t on_group(pmix_group_operation_t operation,
                       char* /*group*/,
                       const pmix_proc_t* /*procs*/,
                       size_t /*proc_count*/,
                       const pmix_info_t* /*info*/,
                       size_t /*info_count*/,
                       pmix_info_cbfunc_t done,
                       void* done_data) {
    Switchboard* board = Switchboard::connected();
    const GroupCallback callback{.function = done, .data = done_data};
    if (operation == PMIX_GROUP_DESTRUCT) {
        // No other process needs to be informed: the group ends with the job.
        done(PMIX_SUCCESS, nullptr, 0, done_data, nullptr, nullptr);
    } else if (board == nullptr || !board->ask_group(callback)) {
        done(PMIX_ERR_OUT_OF_RESOURCE, nullptr, 0, done_data, nullptr, nullptr);
    }
    return PMIX_SUCCESS;
}
// NOLINTEND(readability-function-size)

}  // namespace

void Switchboard::connect(Switchboard* board) {
    slot().store(board);
}

Switchboard* Switchboard::connected() {
    return slot().load();
}

pmix_server_module_t Switchboard::module() {
    pmix_server_module_t module{};
    module.client_connected2 = on_connected;
    module.client_finalized = on_finalized;
    module.fence_nb = on_fence;
    module.group = on_group;
    return module;
}

void Switchboard::post(Upcall upcall) {
    // A full mailbox means that the host's thread is gone: its process is ending.
    static_cast<void>(mailbox_.post(std::move(upcall)));
}

Call Switchboard::keep(Callback callback) {
    const std::lock_guard lock{mutex_};
    kept_.emplace(++last_, callback);
    return last_;
}

bool Switchboard::ask_fence(FenceCallback callback, std::vector<std::byte> data) {
    const Call call = keep(callback);
    if (mailbox_.post(FenceAsked{.call = call, .data = std::move(data)})) {
        return true;
    }
    static_cast<void>(take(call));
    return false;
}

bool Switchboard::ask_group(GroupCallback callback) {
    const Call call = keep(callback);
    if (mailbox_.post(GroupAsked{.call = call})) {
        return true;
    }
    static_cast<void>(take(call));
    return false;
}

std::optional<Callback> Switchboard::take(Call call) {
    const std::lock_guard lock{mutex_};
    const auto found = kept_.find(call);
    if (found == kept_.end()) {
        return std::nullopt;
    }
    const Callback callback = found->second;
    kept_.erase(found);
    return callback;
}

}  // namespace stage::pmix_host
