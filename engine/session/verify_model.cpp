#include "container/verifier.h"
#include "session/facade_guard.h"
#include "session/model_files.h"

namespace waste {

Result<VerifyReport> verifyContainer(const Container& container, const VerifyOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel)
{
    return guarded([&]() -> Result<VerifyReport> {
        const ContainerFiles* files = container.files().container();
        if (files == nullptr) {
            return Error{ErrorCode::Unsupported, "",
                container.info().name + " is a published checkpoint, which has no checksums to verify"};
        }
        return verifyContainer(*files, options, onDamage, progress, cancel);
    });
}

} // namespace waste
