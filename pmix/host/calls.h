// Converts the upcalls of the PMIx server library into Upcalls, and keeps the callbacks that
// answer them.
//
// PMIx' upcalls carry no pointer of the host process (fence and group have none at all), so
// there is one Switchboard in the process. Callbacks are kept by number.
#pragma once

#include "pmix/host/mailbox.h"

#include <pmix_server.h>

#include <map>
#include <mutex>
#include <optional>
#include <variant>

namespace stage::pmix_host {

struct FenceCallback {
    pmix_modex_cbfunc_t function = nullptr;
    void* data = nullptr;
};

struct GroupCallback {
    pmix_info_cbfunc_t function = nullptr;
    void* data = nullptr;
};

using Callback = std::variant<FenceCallback, GroupCallback>;

class Switchboard {
  public:
    explicit Switchboard(Mailbox& mailbox) : mailbox_{mailbox} {}

    /// Sets the receiver of all upcalls from now on, or none. It must outlive the library's
    /// use.
    static void connect(Switchboard* board);
    [[nodiscard]] static Switchboard* connected();

    /// The functions for PMIx_server_init, which copies the struct.
    [[nodiscard]] static pmix_server_module_t module();

    void post(Upcall upcall);
    /// Keeps a callback and posts the upcall; false if the mailbox is full.
    [[nodiscard]] bool ask_fence(FenceCallback callback, std::vector<std::byte> data);
    [[nodiscard]] bool ask_group(GroupCallback callback);
    /// Removes and returns a callback, which must be called once.
    [[nodiscard]] std::optional<Callback> take(Call call);

  private:
    Call keep(Callback callback);

    Mailbox& mailbox_;
    std::mutex mutex_;
    Call last_ = 0;
    std::map<Call, Callback> kept_;
};

}  // namespace stage::pmix_host
