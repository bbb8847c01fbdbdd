// Which calls of PMIx wait for an answer, and how do its C functions find us?
//
// PMIx' upcalls carry no pointer of the host's (fence and group have none at all), so there is
// one Switchboard in the process. It turns what PMIx calls into Upcalls and keeps what PMIx
// wants called back, by number.
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

    /// The one that upcalls go to from now on, or none. It must outlive the library's use.
    static void connect(Switchboard* board);
    [[nodiscard]] static Switchboard* connected();

    /// What PMIx_server_init is given. Static: PMIx copies it.
    [[nodiscard]] static pmix_server_module_t module();

    void post(Upcall upcall);
    /// Keeps a callback; false if the host can't be told.
    [[nodiscard]] bool ask_fence(FenceCallback callback, std::vector<std::byte> data);
    [[nodiscard]] bool ask_group(GroupCallback callback);
    /// Gives it up: it is called back once.
    [[nodiscard]] std::optional<Callback> take(Call call);

  private:
    Call keep(Callback callback);

    Mailbox& mailbox_;
    std::mutex mutex_;
    Call last_ = 0;
    std::map<Call, Callback> kept_;
};

}  // namespace stage::pmix_host
