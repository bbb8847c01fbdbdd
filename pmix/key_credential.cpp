#include "pmix/key_credential.h"

#include "pmix/freed.h"
#include "transport/base/random_value.h"

#include <munge.h>
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

Error clocks(const std::string& what, const std::string& how) {
    return Error{Blame::node, what + " is " + how + " by this node's clock"}.remedy(
        "set the clocks of both nodes (munge allows 5 minutes)");
}

constexpr const char* kGroupKey = "the group's key";

}  // namespace

CardKey draw_card_key() {
    return random_value<CardKey>();
}

Result<std::string> seal_for_own_uid(Bytes bytes, const std::string& what) {
    const Context context{munge_ctx_create()};
    invariant(context != nullptr, "memory for a munge context is to be had");
    const munge_err_t restricted =
        munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, ::geteuid());
    if (restricted != EMUNGE_SUCCESS) {
        return munge_error("restricting " + what + " to the own uid", restricted);
    }
    // Credentials stand in command lines and cards, which others may read. The cipher is set,
    // so that a munged configured for "none" does not reveal what is in them.
    const munge_err_t encrypted =
        munge_ctx_set(context.get(), MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
    if (encrypted != EMUNGE_SUCCESS) {
        return munge_error("choosing the cipher of " + what, encrypted);
    }
    char* raw = nullptr;
    const munge_err_t sealed =
        munge_encode(&raw, context.get(), bytes.data(), static_cast<int>(bytes.size()));
    const MallocPointer<char> credential{raw};
    if (sealed != EMUNGE_SUCCESS) {
        return munge_error("sealing " + what, sealed);
    }
    return std::string{credential.get()};
}

Result<std::vector<std::byte>> open_of_own_uid(const std::string& credential,
                                               const std::string& what) {
    void* raw = nullptr;
    int length = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    const munge_err_t opened =
        munge_decode(credential.c_str(), nullptr, &raw, &length, &uid, &gid);
    const MallocPointer<void> payload{raw};
    if (opened == EMUNGE_CRED_EXPIRED) {
        return clocks(what, "too old");
    }
    if (opened == EMUNGE_CRED_REWOUND) {
        return clocks(what, "from the future");
    }
    // Replayed: another member on this node has decoded it; the payload is the same.
    if (opened != EMUNGE_SUCCESS && opened != EMUNGE_CRED_REPLAYED) {
        return munge_error("opening " + what, opened);
    }
    if (uid != ::geteuid() || payload == nullptr || length < 0) {
        return Error{Blame::user,
                     what + " was made by uid " + std::to_string(uid) + ", not by this user"};
    }
    const auto* bytes = static_cast<const std::byte*>(payload.get());
    return std::vector<std::byte>{bytes, bytes + length};
}

Result<std::string> seal_card_key(const CardKey& key) {
    Result<std::string> credential = seal_for_own_uid(key, kGroupKey);
    return credential ? std::move(credential)
                      : std::move(credential)
                            .error()
                            .remedy("start munged, push by ssh or clush, or give a --key-file");
}

Result<CardKey> open_card_key(const std::string& credential) {
    TRY(const auto bytes, open_of_own_uid(credential, kGroupKey));
    CardKey key{};
    if (bytes.size() != key.size()) {
        return Error{Blame::user, "the group's key in rank 0's card is none"};
    }
    std::ranges::copy(bytes, key.begin());
    return key;
}

}  // namespace stage
