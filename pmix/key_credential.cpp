#include "pmix/key_credential.h"

#include "pmix/freed.h"

#include <munge.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

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

Result<std::string> seal_key(const LaunchKey& key) {
    const Context context{munge_ctx_create()};
    invariant(context != nullptr, "memory for a munge context is to be had");
    // The cipher is set, so that a munged configured for "none" does not reveal the key.
    munge_err_t error = munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, ::geteuid());
    if (error == EMUNGE_SUCCESS) {
        error = munge_ctx_set(context.get(), MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
    }
    char* raw = nullptr;
    if (error == EMUNGE_SUCCESS) {
        error = munge_encode(&raw, context.get(), key.data(), static_cast<int>(key.size()));
    }
    const MallocPointer<char> credential{raw};
    return error == EMUNGE_SUCCESS ? Result<std::string>{credential.get()}
                                   : munge_error("sealing the group's key", error);
}

Result<LaunchKey> open_key(const std::string& credential) {
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
    // Replayed: another member on this node has decoded it; the payload is the same.
    if (opened != EMUNGE_SUCCESS && opened != EMUNGE_CRED_REPLAYED) {
        return munge_error("opening the group's key", opened);
    }
    LaunchKey key{};
    if (uid != ::geteuid() || payload == nullptr || std::cmp_not_equal(length, key.size())) {
        return Error{
            Blame::user,
            "the group's key was made by uid " + std::to_string(uid) + ", not by this user"};
    }
    std::copy_n(static_cast<const std::byte*>(payload.get()), key.size(), key.begin());
    return key;
}

}  // namespace stage
