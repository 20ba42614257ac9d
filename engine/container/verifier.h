#pragma once

#include "container/container_files.h"
#include "waste/verifier.h"

namespace waste {

// The pass behind the facade's verifyContainer(), which says what it does.
Result<VerifyReport> verifyContainer(const ContainerFiles& files, const VerifyOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel);

} // namespace waste
