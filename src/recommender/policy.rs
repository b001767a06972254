//! Every threshold of the verdicts, with its unit and its reason.
