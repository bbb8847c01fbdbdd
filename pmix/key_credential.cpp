#include "pmix/key_credential.h"

#include "pmix/freed.h"

#include <munge.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

struct ContextEnd {
    void operator()(munge_ctx_t context) const { munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<std::remove_pointer_t<munge_ctx_t>, ContextEnd>;

Error munge_error(const std::string& doing, munge_err_t error) {
    return {Blame::node, doing + ": munge: " + munge_strerror(error)};
}

Error clocks(const std::string& how) {
    return Error{Blame::node, "the group's key is " + how + " by this node's clock"}.remedy(
        "set the clocks of both nodes (munge allows 5 minutes)");
}

}  // namespace

CardKey draw_card_key() {
    CardKey key{};
    const ssize_t drawn = ::getrandom(key.data(), key.size(), 0);
    invariant(drawn == static_cast<ssize_t>(key.size()), "the kernel has randomness");
    return key;
}

Result<std::string> seal_card_key(const CardKey& key) {
    const Context context{munge_ctx_create()};
    invariant(context != nullptr, "memory for a munge context is to be had");
    const munge_err_t restricted =
        munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, ::geteuid());
    if (restricted != EMUNGE_SUCCESS) {
        return munge_error("restricting the group's key to the own uid", restricted);
    }
    char* raw = nullptr;
    const munge_err_t sealed =
        munge_encode(&raw, context.get(), key.data(), static_cast<int>(key.size()));
    const MallocPointer<char> credential{raw};
    if (sealed != EMUNGE_SUCCESS) {
        return munge_error("sealing the group's key", sealed)
            .remedy("start munged, or give all members a --key-file");
    }
    return std::string{credential.get()};
}

Result<CardKey> open_card_key(const std::string& credential) {
    void* raw = nullptr;
    int length = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    const munge_err_t opened =
        munge_decode(credential.c_str(), nullptr, &raw, &length, &uid, &gid);
    const MallocPointer<void> payload{raw};
    if (opened == EMUNGE_CRED_EXPIRED) {
        return clocks("too old");
    }
    if (opened == EMUNGE_CRED_REWOUND) {
        return clocks("from the future");
    }
    // Replayed: another member on this node has opened it; the payload is as good.
    if (opened != EMUNGE_SUCCESS && opened != EMUNGE_CRED_REPLAYED) {
        return munge_error("opening the group's key", opened);
    }
    CardKey key{};
    if (uid != ::geteuid() || payload == nullptr || length != static_cast<int>(key.size())) {
        return Error{Blame::user,
                     "the group's key in rank 0's card was made by uid " + std::to_string(uid) +
                         ", not by us"};
    }
    const auto* bytes = static_cast<const std::byte*>(payload.get());
    std::copy_n(bytes, key.size(), key.begin());
    return key;
}

}  // namespace stage
