#pragma once

#include "vision/image_file.h"
#include "vision/image_plan.h"
#include "vision/vision_config.h"

#include <vector>

namespace waste {

// From decoded pixels to what the tower reads: resize, transparency onto its background, black padding,
// normalisation, patches (spec: vision 2.3 to 2.5).
// Result: [gridRows · gridColumns][3][14][14], patches row by row, channels R, G, B.
std::vector<float> makePatches(Image image, const ImagePlan& plan, const VisionConfig& config);

} // namespace waste
