#include "stager/link/munge_check.h"

#include <munge.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace stage {
namespace {

struct ContextFree {
    void operator()(munge_ctx_t context) const { ::munge_ctx_destroy(context); }
};

struct Freed {
    // libmunge allocates with malloc, and its caller has to free.
    void operator()(void* bytes) const { std::free(bytes); }  // NOLINT
};

}  // namespace

Result<std::string> seal_and_open(const std::string& socket) {
    const std::unique_ptr<munge_ctx, ContextFree> context{::munge_ctx_create()};
    if (context == nullptr) {
        return Error{Blame::node, "cannot set up libmunge"};
    }
    if (!socket.empty()) {
        ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str());
    }
    constexpr std::array kSample{'s', 't', 'a', 'g', 'e'};
    char* made = nullptr;
    munge_err_t error = ::munge_encode(&made, context.get(), kSample.data(), kSample.size());
    const std::unique_ptr<char, Freed> credential{made};
    if (error != EMUNGE_SUCCESS) {
        return Error{Blame::node,
                     std::string{"munge does not answer ("} + ::munge_strerror(error) + ")"}
            .remedy(
                "start munged (systemctl start munge), or set AuthKeyFile= if the cluster has "
                "no "
                "munge");
    }
    void* opened = nullptr;
    int length = 0;
    error = ::munge_decode(credential.get(), context.get(), &opened, &length, nullptr, nullptr);
    const std::unique_ptr<void, Freed> payload{opened};
    if (error != EMUNGE_SUCCESS) {
        return Error{Blame::node,
                     std::string{"munge does not open its own credential ("} +
                         ::munge_strerror(error) + ")"}
            .remedy("see munged's log");
    }
    return std::string{
        "seals and opens; that the other nodes have the same key and time, "
        "`munge -n | ssh NODE unmunge` tells"};
}

}  // namespace stage
